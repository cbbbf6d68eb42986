"""Calls in a trace: costs by purpose, and everything needed to read what was asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rag_research.config.schema import BudgetConfig
from rag_research.errors import LLMError
from rag_research.llm.base import Message, Request
from rag_research.llm.budget import BudgetedLLM
from rag_research.llm.cache import CachedLLM
from rag_research.llm.scripted import Scripted
from rag_research.llm.traced import TracedLLM
from rag_research.trace import Trace


def ask(text: str, purpose: str) -> Request:
    return Request((Message("user", text),), purpose=purpose, prompt="test/ask@1")


async def test_calls_stand_in_the_open_step_in_plain_types() -> None:
    trace = Trace("q1")
    llm = TracedLLM(Scripted.of(["yes indeed"]), trace)
    with trace.step("solve"):
        await llm.complete(ask("is it so", "answer"))
    (line,) = trace.lines()
    (call,) = line["calls"]
    assert call.pop("seconds") >= 0
    assert call == {
        "purpose": "answer",
        "prompt": "test/ask@1",
        "messages": [{"role": "user", "content": "is it so"}],
        "reply": "yes indeed",
        "finish_reason": "stop",
        "cached": False,
        "tokens_estimated": False,
        "calls": 1,
        "cached_calls": 0,
        "input_tokens": 3,
        "output_tokens": 2,
    }
    json.dumps(line)
    assert llm.identity == llm.llm.identity


async def test_the_whole_stack(tmp_path: Path) -> None:
    model = Scripted.of(["a", "b"])
    budgeted = BudgetedLLM(model, BudgetConfig())
    cached = CachedLLM(budgeted, tmp_path / "cache.sqlite")
    trace = Trace("q1")
    llm = TracedLLM(cached, trace)
    for text in ("one", "two", "one"):
        await llm.complete(ask(text, "plan" if text == "two" else "answer"))
    assert trace.usage["answer"].calls == 2
    assert trace.usage["answer"].cached_calls == 1
    assert trace.total_usage().calls == 3
    assert budgeted.spent.calls == len(model.requests) == 2


async def test_a_failed_call_costs_nothing_and_marks_the_step() -> None:
    trace = Trace("q1")
    with pytest.raises(LLMError), trace.step("solve"):
        await TracedLLM(Scripted.of([]), trace).complete(ask("q", "answer"))
    assert trace.usage == {}
    assert next(trace.lines())["error"].startswith("LLMError: scripted")
