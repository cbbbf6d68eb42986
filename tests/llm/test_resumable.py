"""LLM work that is stored piece by piece: what is kept, counted, and asked again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rag_research.errors import BudgetExceededError, LLMError, ParseError
from rag_research.llm.base import LLM, Completion, Message, Request
from rag_research.llm.resumable import added, finish_items
from rag_research.llm.scripted import Scripted
from rag_research.runtime.artifacts import ArtifactStore, ItemLog
from rag_research.types import Usage

PIECES = {"a": "one", "b": "two", "c": "three"}


async def ask(piece: str, llm: LLM) -> dict[str, Any]:
    reply = await llm.complete(Request((Message("user", piece),), purpose="say"))
    if not reply.text:
        raise ParseError("nothing was said")
    return {"said": reply.text}


class Failing(Scripted):
    """Fails for the words of its script."""

    async def complete(self, request: Request) -> Completion:
        if request.messages[-1].content == "down":
            raise LLMError("connection refused")
        if request.messages[-1].content == "spent":
            raise BudgetExceededError("no calls left")
        return await super().complete(request)


def test_finished_pieces_are_stored_with_their_cost_and_failed_ones_are_not(tmp_path: Path) -> None:
    log = ItemLog(tmp_path / "log.jsonl")
    llm = Scripted.of(lambda r: "" if r.messages[-1].content == "two" else "fine reply")
    lost = finish_items("say", PIECES, ask, log, llm, 2)
    cost = {"calls": 1, "cached_calls": 0, "input_tokens": 1, "output_tokens": 2, "seconds": 0.0}
    assert {key: log[key] for key in PIECES if key in log} == {
        key: {"said": "fine reply", "usage": {"say": cost}} for key in ("a", "c")
    }
    assert lost == {"say": Usage(calls=1, input_tokens=1)}
    assert len(ItemLog(tmp_path / "log.jsonl")) == 2


def test_a_backend_that_is_down_is_an_error_only_when_nothing_came_back(tmp_path: Path) -> None:
    log = ItemLog(tmp_path / "log.jsonl")
    some = {"a": "one", "b": "down"}
    assert finish_items("say", some, ask, log, Failing.of(lambda r: "yes")) == {}
    assert "a" in log and "b" not in log
    with pytest.raises(LLMError, match=r"say: .* all 1 items.*connection refused"):
        finish_items("say", {"b": "down"}, ask, log, Failing.of([]))


def test_a_spent_budget_stops_and_keeps_what_is_finished(tmp_path: Path) -> None:
    log = ItemLog(tmp_path / "log.jsonl")
    pieces = {"a": "one", "b": "spent", "c": "three", "d": "four"}
    llm = Failing.of(lambda r: "yes")
    with pytest.raises(BudgetExceededError):
        finish_items("say", pieces, ask, log, llm, 1)
    assert "a" in log
    assert "c" not in log and "d" not in log


def test_a_read_only_log_is_not_asked_for(tmp_path: Path) -> None:
    ItemLog(tmp_path / "log.jsonl").add("a", {"said": "before"})
    log = ItemLog(tmp_path / "log.jsonl", read_only=True)
    llm = Scripted.of(lambda r: "yes")
    assert finish_items("say", PIECES, ask, log, llm) == {}
    assert llm.requests == []
    assert log["a"] == {"said": "before"} and "b" not in log


def test_costs_are_added_by_purpose() -> None:
    first, second = {"x": Usage(1), "y": Usage(2)}, {"y": Usage(3), "z": Usage(4)}
    assert list(added(first, second).items()) == [("x", Usage(1)), ("y", Usage(5)), ("z", Usage(4))]


def test_a_log_without_any_finished_item_can_be_opened(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path)
    finish_items("say", {"a": "one"}, ask, store.items("stage", 1, {}), Scripted.of(lambda r: ""))
    assert len(ArtifactStore(tmp_path, read_only=True).items("stage", 1, {})) == 0
