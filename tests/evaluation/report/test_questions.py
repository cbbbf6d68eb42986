"""Questions side by side: scores of failed ones, standing, disagreement, by hand."""

import pytest

from rag_research.evaluation.report.questions import question_rows, shown_outcome, standing
from rag_research.evaluation.results import Results


def outcome(score: float | None, answer: str = "") -> dict:
    return {"answer": answer, "scores": {} if score is None else {"token_f1": score}}


@pytest.mark.parametrize(
    ("scores", "mean", "spread", "disagree"),
    [
        ([1.0, 0.5], 0.75, 0.5, True),
        ([0.2, 0.2, 0.2], 0.2, 0.0, False),
        ([1.0], 1.0, 0.0, False),
    ],
)
def test_standing_by_hand(scores, mean, spread, disagree) -> None:
    place = standing([outcome(score) for score in scores], "token_f1")
    assert place.mean == pytest.approx(mean)
    assert (place.spread, place.disagree) == (spread, disagree)


def test_without_gold_answers_disagree_when_their_words_do() -> None:
    same = standing([outcome(None, "The Sea!"), outcome(None, "sea")], "token_f1")
    other = standing([outcome(None, "sea"), outcome(None, "lake")], "token_f1")
    assert (same.mean, same.disagree) == (None, False)
    assert (other.mean, other.disagree, other.spread) == (None, True, 1.0)


def test_a_failed_question_is_wrong_and_its_cost_counts() -> None:
    usage = {"calls": 2, "cached_calls": 0, "input_tokens": 7, "output_tokens": 3, "seconds": 0.0}
    row = {"golds": ["x"], "error": "LLMError: no", "usage": {"answer": usage}}
    shown = shown_outcome(row)
    assert shown["scores"] == {"exact_match": 0.0, "substring_match": 0.0, "token_f1": 0.0}
    assert (shown["right"], shown["answer"], shown["error"]) == (False, None, "LLMError: no")
    assert (shown["calls"], shown["in"], shown["out"]) == (2, 7, 3)
    assert shown_outcome({**row, "golds": []})["right"] is None


def test_rows_put_runs_beside_each_other(folders) -> None:
    first = folders.write("t2rag", lambda n: n < 2, size=3, failed=[1])
    second = folders.write("tog3", lambda n: n == 0, size=3)
    rows = question_rows([Results.load(first), Results.load(second)])
    by_id = {row["id"]: row for row in rows}
    assert [row["id"] for row in rows] == ["q0", "q2", "q1"]  # failed ones last
    assert by_id["q0"]["mean"] == 1.0 and not by_id["q0"]["disagree"]
    assert by_id["q2"]["mean"] == 0.0
    assert by_id["q1"]["runs"][0]["error"] == "LLMError: it broke"
    assert by_id["q1"]["runs"][1]["answer"] == "the lake"
    assert by_id["q1"]["spread"] == 0.0
    assert by_id["q0"]["runs"][0]["seconds"] == 1.5
    assert (by_id["q0"]["runs"][0]["in"], by_id["q0"]["runs"][0]["rounds"]) == (100, 1)


def test_a_question_only_one_run_was_asked(folders) -> None:
    first = folders.write("t2rag", lambda n: True, size=1)
    second = folders.write("tog3", lambda n: True, size=2)
    rows = question_rows([Results.load(first), Results.load(second)])
    assert rows[1]["runs"][0] is None
    assert rows[1]["runs"][1]["right"] is True
