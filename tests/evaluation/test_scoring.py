"""Which questions a mean is over."""

from __future__ import annotations

from rag_research.config.schema import EvaluationConfig
from rag_research.evaluation.records import Record
from rag_research.evaluation.scoring import means, score
from rag_research.types import Answer, Question

CONFIG = EvaluationConfig(("exact_match", "answer_length"), (2,), 50)


def record(answer: Answer) -> Record:
    return Record("?", answer, {}, [], 0.1)


def test_questions_without_gold_are_left_out_failed_ones_are_wrong() -> None:
    answered = [
        (Question("a", "?", ("x",)), record(Answer("x", rounds=1))),
        (Question("b", "?"), record(Answer("anything goes", rounds=1))),
    ]
    scores = score(answered, [Question("c", "?", ("x",)), Question("d", "?")], CONFIG, seed=0)
    em, length = scores.intervals["exact_match"], scores.intervals["answer_length"]
    assert em is not None and length is not None
    assert (em.mean, em.n) == (0.5, 2)
    assert (length.mean, length.n) == (1.5, 2)
    assert scores.intervals["recall@2"] is None
    assert scores.by_question["b"]["exact_match"] is None
    assert scores.versions.keys() == {
        "exact_match",
        "answer_length",
        "recall_at_k",
        "full_chain_recall_at_k",
    }


def test_a_failed_question_gives_no_recall_to_a_system_that_never_retrieves() -> None:
    golden = Question("a", "?", ("x",), gold_passages=("p",))
    scores = score([(golden, record(Answer("x")))], [golden], CONFIG, seed=0)
    assert scores.intervals["recall@2"] is None


def test_when_every_question_failed_the_score_is_zero() -> None:
    scores = score([], [Question("a", "?", ("x",))], CONFIG, seed=0)
    em = scores.intervals["exact_match"]
    assert em is not None and (em.mean, em.n) == (0.0, 1)
    assert scores.intervals["answer_length"] is None


def test_means_are_over_the_answers_that_have_the_stat() -> None:
    records = [record(Answer("x", rounds=1, stats={"s": 3})), record(Answer("y", rounds=2))]
    assert means(records) == {"rounds": 1.5, "s": 3.0}
    assert means([]) == {}
