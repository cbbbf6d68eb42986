"""Retrievers scored by themselves, and BM25 on the published sets where they are at hand."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from rag_research.config.compose import compose_experiment
from rag_research.corpus.corpus import Corpus
from rag_research.corpus.dataset import Dataset
from rag_research.corpus.jsonl import read_passages, read_questions
from rag_research.embed.hashing import Hashing, HashingConfig
from rag_research.errors import DataError
from rag_research.evaluation.rankings import (
    choose_gold_questions,
    passage_retrievers,
    retrieval_table,
    score_retrievers,
)
from rag_research.evaluation.runner import choose_questions
from rag_research.index.bm25 import build_bm25
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.types import Hit, Passage, Question

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"


class Fixed:
    """Always ranks a, b, c."""

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        return [[Hit(id, -float(i)) for i, id in enumerate("abc")][:k] for _ in queries]


QUESTIONS = [
    Question("1", "first", gold_passages=("a", "c")),
    Question("2", "second", gold_passages=("b",)),
    Question("3", "no gold"),
]


def test_recall_and_full_chain_are_the_hand_computed_means() -> None:
    (scores,) = score_retrievers({"fixed": Fixed()}, QUESTIONS, (1, 2, 3))
    means = {name: interval.mean for name, interval in scores.metrics.items()}
    assert means == {
        "recall@1": 0.25,
        "recall@2": 0.75,
        "recall@3": 1.0,
        "full_chain@1": 0.0,
        "full_chain@2": 0.5,
        "full_chain@3": 1.0,
    }
    assert scores.metrics["recall@2"].n == 2


def test_questions_without_gold_passages_cannot_be_scored() -> None:
    with pytest.raises(DataError, match="gold passages"):
        score_retrievers({"fixed": Fixed()}, QUESTIONS[2:])


def test_limit_and_shuffle_take_the_questions_a_run_would() -> None:
    questions = [Question(str(n), f"question {n}", gold_passages=("a",)) for n in range(20)]
    for words in (["limit=5"], ["limit=5", "shuffle=true"], ["shuffle=true"], []):
        config = compose_experiment(words)
        chosen = choose_gold_questions([*questions, Question("none", "no gold")], config)
        assert chosen == choose_questions(questions, config)
        assert len(chosen) == (config.limit or 20)
    with pytest.raises(DataError, match="gold passages"):
        choose_gold_questions(QUESTIONS[2:], compose_experiment())


def test_the_three_retrievers_over_a_data_set(tmp_path: Path) -> None:
    corpus = Corpus([Passage("p1", "Oboe", "a reed instrument"), Passage("p2", "Fjord", "a bay")])
    dataset = Dataset("two", corpus, [Question("1", "reed instrument", gold_passages=("p1",))])
    encoder = Hashing(HashingConfig())
    retrievers = passage_retrievers(dataset, None, encoder, ArtifactStore(tmp_path))
    scores = score_retrievers(retrievers, dataset.questions, (1,))
    assert [score.retriever for score in scores] == ["bm25", "dense", "hybrid"]
    assert all(score.metrics["full_chain@1"].mean == 1.0 for score in scores)
    table = retrieval_table(dataset, scores)
    assert "two: 2 passages, 1 questions" in table and "| hybrid | 100.0 ±0.0" in table


@pytest.mark.parametrize(
    ("name", "recall_2", "recall_5"), [("2wiki", 0.556, 0.657), ("hotpotqa", 0.550, 0.710)]
)
def test_bm25_finds_what_it_is_known_to_find(
    name: str, recall_2: float, recall_5: float, tmp_path: Path
) -> None:
    """Known figures are over all questions, the file holds half: two points of sampling."""
    folder = DATA / name
    if not folder.is_dir():
        pytest.skip(f"no {folder}")
    corpus = Corpus(read_passages(folder / "corpus.jsonl.gz"))
    questions = list(read_questions(folder / "questions_dev.jsonl.gz"))
    texts = [passage.contents for passage in corpus]
    retriever = build_bm25("passages", corpus.ids, texts, ArtifactStore(tmp_path))
    (scores,) = score_retrievers({"bm25": retriever}, questions, samples=10)
    assert scores.metrics["recall@2"].mean == pytest.approx(recall_2, abs=0.02)
    assert scores.metrics["recall@5"].mean == pytest.approx(recall_5, abs=0.02)
