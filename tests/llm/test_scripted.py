"""The scripted model: three kinds of script, and what it says when it runs out."""

from __future__ import annotations

import pytest

from rag_research.errors import LLMError
from rag_research.llm.base import LLM, Message, Request
from rag_research.llm.scripted import Scripted, ScriptedConfig


def ask(text: str, purpose: str = "") -> Request:
    return Request((Message("user", text),), purpose=purpose)


async def test_replies_in_order_with_words_counted() -> None:
    llm = Scripted(ScriptedConfig(replies=("one two", "three")))
    first = await llm.complete(ask("a b c"))
    second = await llm.complete(ask("d"))
    assert (first.text, first.input_tokens, first.output_tokens) == ("one two", 3, 2)
    assert (second.text, second.input_tokens, second.output_tokens) == ("three", 1, 1)
    assert [r.messages[0].content for r in llm.requests] == ["a b c", "d"]
    assert isinstance(llm, LLM)


async def test_replies_by_purpose() -> None:
    llm = Scripted.of({"plan": ["p1", "p2"], "answer": ["a1"]})
    asked = ["plan", "answer", "plan"]
    assert [(await llm.complete(ask("q", p))).text for p in asked] == ["p1", "a1", "p2"]
    with pytest.raises(LLMError, match=r"call 2 of purpose 'answer' \(call 4 in all.*holds 1"):
        await llm.complete(ask("q", "answer"))
    with pytest.raises(LLMError, match=r"call 1 of purpose 'other'.*holds 0"):
        await llm.complete(ask("q", "other"))


async def test_replies_from_a_function() -> None:
    llm = Scripted.of(lambda request: request.messages[-1].content.upper())
    assert (await llm.complete(ask("abc"))).text == "ABC"


async def test_running_out_says_which_call_and_what_was_asked() -> None:
    llm = Scripted.of(["only one"])
    await llm.complete(ask("q"))
    with pytest.raises(LLMError, match=r"call 2 .*purpose 'late'.*'why\?'"):
        await llm.complete(ask("why?", "late"))


async def test_one_reply_may_stand_for_all_that_are_missing() -> None:
    llm = Scripted(ScriptedConfig(replies=("one",), otherwise="unknown"))
    assert [(await llm.complete(ask("q"))).text for _ in range(3)] == ["one", "unknown", "unknown"]


def test_identity_depends_on_the_script() -> None:
    assert Scripted.of(["a"]).identity == Scripted(ScriptedConfig(replies=("a",))).identity
    assert Scripted.of(["a"]).identity != Scripted.of(["b"]).identity
    replies = [ScriptedConfig(("a",)), ScriptedConfig(("a",), "b"), ScriptedConfig(("a",), "c")]
    assert len({Scripted(config).identity["script"] for config in replies}) == 3
