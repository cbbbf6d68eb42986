"""Paired differences of whole runs."""

from __future__ import annotations

from typing import Any

import pytest

from rag_research.errors import DataError, LLMError
from rag_research.evaluation.compare import compare, comparison
from rag_research.evaluation.results import Results
from rag_research.evaluation.runner import evaluate
from rag_research.llm.base import Request


def run(lab: Any, name: str, reply: Any = None, **changes: Any) -> Results:
    config = lab.config(run={"out": str(lab.root / name)}, **changes)
    return evaluate(config, lab.models(config, reply=reply or lab.read_the_passage)[0])


def bare(lab: Any) -> Any:
    def reply(request: Request) -> str:
        return str(lab.read_the_passage(request)).removeprefix("It is ")

    return reply


def test_the_difference_is_over_the_same_questions(lab: Any) -> None:
    wordy, terse = run(lab, "wordy"), run(lab, "terse", bare(lab))
    gap = compare(terse, wordy, ("exact_match", "token_f1", "recall@2"))
    # Four of ten questions go from wordy to exact: EM +0.4, F1 4 x (1 - 1/2) / 10.
    assert gap["exact_match"].interval.mean == pytest.approx(0.4)
    assert gap["token_f1"].interval.mean == pytest.approx(0.2)
    assert gap["exact_match"].interval.low > 0
    assert (gap["recall@2"].interval.low, gap["recall@2"].interval.high) == (0.0, 0.0)
    assert gap["exact_match"].interval.n == 10


def test_a_failed_question_counts_as_wrong_on_its_side(lab: Any, fails_on: Any) -> None:
    whole, broken = run(lab, "whole"), run(lab, "broken", fails_on("Country 4 "))
    gap = compare(broken, whole, ("exact_match",))["exact_match"].interval
    assert (gap.mean, gap.n) == (pytest.approx(-0.1), 10)


def test_failures_alone_make_no_column(lab: Any) -> None:
    def reply(request: Request) -> str:
        if "Country 4 " in request.messages[-1].content:
            raise LLMError("the server refused it")
        return "Lima"

    found, closed = run(lab, "found"), run(lab, "closed", reply, system="closed_book")
    assert closed.failed == 1
    assert closed.metrics["recall@2"] is None
    assert list(compare(closed, found, ("exact_match", "recall@2"))) == ["exact_match"]


def test_runs_of_other_lengths_share_what_both_asked(lab: Any) -> None:
    gap = compare(run(lab, "a"), run(lab, "b", limit=4), ("exact_match",))["exact_match"]
    assert gap.interval.n == 4


def test_runs_without_a_common_question_are_refused(lab: Any) -> None:
    a = run(lab, "a", limit=1)
    b = run(lab, "b", limit=1, shuffle=True, seed=3)
    with pytest.raises(DataError, match="share no question"):
        compare(a, b)


def test_each_run_is_set_against_the_first(lab: Any) -> None:
    text = comparison([run(lab, "wordy"), run(lab, "terse", bare(lab))])
    assert "overlap - overlap, exact_match: +40.0 [" in text
    assert "over 10 questions" in text
    assert comparison([run(lab, "wordy")]) == ""


def test_resamples_are_those_of_the_first_run(lab: Any) -> None:
    runs = [
        run(lab, name, reply, evaluation={"bootstrap_samples": samples})
        for name, reply, samples in (("wordy", None, 7), ("terse", bare(lab), 50))
    ]
    gap = compare(runs[1], runs[0], ("exact_match",), samples=7)["exact_match"].interval
    low, high = f"{100 * gap.low:+.1f}", f"{100 * gap.high:+.1f}"
    assert f"exact_match: +40.0 [{low}, {high}] over" in comparison(runs)
    for other in (50, 1000):
        wider = compare(runs[1], runs[0], ("exact_match",), other)["exact_match"].interval
        assert (wider.low, wider.high) != (gap.low, gap.high)
