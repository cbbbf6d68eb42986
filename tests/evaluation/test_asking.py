"""The clock of a run, and which errors end it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from rag_research.errors import BudgetExceededError, LLMError, ModelNotFoundError
from rag_research.evaluation.asking import Clock
from rag_research.evaluation.runner import evaluate
from rag_research.llm.base import Request


def test_the_clock_stands_still_while_models_load(monkeypatch: pytest.MonkeyPatch) -> None:
    now, loading = 100.0, 0.0
    monkeypatch.setattr(time, "perf_counter", lambda: now)
    clock = Clock(lambda: loading)
    started = clock.now()
    now, loading = 130.0, 25.0
    assert clock.now() - started == 5.0
    assert clock.lap() == 5.0
    now = 132.0
    assert clock.lap() == 2.0


def test_shares_add_up_to_the_time_of_asking_and_are_kept(lab: Any) -> None:
    config = lab.config(run={"concurrency": 4})
    first = evaluate(config, lab.models(config)[0])
    asking = first.provenance["resources"]["query"]["wall_seconds"]
    assert 0 < first.seconds["a_question"] * 10 <= asking + 0.01
    assert first.seconds["latency_mean"] > first.seconds["a_question"]
    again = evaluate(config, lab.models(config)[0])
    assert again.seconds == first.seconds


def test_an_error_every_question_would_meet_ends_the_run(lab: Any) -> None:
    def missing(request: Request) -> str:
        if request.purpose == "answer":
            raise ModelNotFoundError("weights of 'x' are not here")
        return "a summary"

    config = lab.config()
    models, scripted = lab.models(config, reply=missing)
    with pytest.raises(ModelNotFoundError, match="weights of 'x'"):
        evaluate(config, models)
    assert len(scripted.requests) <= 1 + config.run.concurrency


def test_an_unexpected_error_fails_its_question_with_a_traceback(lab: Any) -> None:
    def odd(request: Request) -> str:
        if "Country 2 " in request.messages[-1].content:
            return {}["no such key"]
        return str(lab.read_the_passage(request))

    config = lab.config(limit=4)
    results = evaluate(config, lab.models(config, reply=odd)[0])
    assert (results.answered, results.failed) == (3, 1)
    text = (results.directory / "failures.jsonl").read_text()
    assert "KeyError: 'no such key'" in text
    assert "Traceback" in text


def test_a_budget_spent_while_indexing_is_an_error(lab: Any) -> None:
    config = lab.config(budget={"calls": 0})
    with pytest.raises(BudgetExceededError, match=r"budget\.calls=0"):
        evaluate(config, lab.models(config)[0])


def test_half_a_surrogate_pair_in_a_reply_loses_no_question(lab: Any) -> None:
    def broken(request: Request) -> str:
        reply = str(lab.read_the_passage(request))
        if "Country 1 " in request.messages[-1].content:
            return reply + " \ud83d"
        if "Country 2 " in request.messages[-1].content:
            raise LLMError("server said \ud83d")
        return reply

    config = lab.config(limit=4)
    results = evaluate(config, lab.models(config, reply=broken)[0])
    assert (results.answered, results.failed) == (3, 1)
    assert [row["answer"] for row in results.predictions()] == [
        "It is Oslo",
        "Lima ?",
        "It is Bern",
    ]
    assert "server said ?" in (results.directory / "failures.jsonl").read_text()
