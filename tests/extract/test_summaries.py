"""Summaries of communities: asked once a content, stored when good, counted when not."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_research.errors import LLMError, ParseError
from rag_research.extract.summaries import read_summary, summarise
from rag_research.llm.base import Completion, Request
from rag_research.llm.scripted import Scripted
from rag_research.prompts.library import PromptLibrary
from rag_research.runtime.artifacts import ArtifactStore

PROMPTS = PromptLibrary()


class Model(Scripted):
    @property
    def identity(self) -> dict[str, str]:
        return {"backend": "scripted", "model": "test"}


def about(request: Request) -> str:
    return f" About\n{request.messages[-1].content}. "


def test_unchanged_contents_are_not_asked_again(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path)
    first = summarise({"c1": "x", "c2": "y", "c3": "x"}, store, Model.of(about), PROMPTS)
    assert first.texts == {"c1": "About x.", "c2": "About y.", "c3": "About x."}
    assert (first.failed, first.reused, first.usage["summarise"].calls) == (0, 0, 2)
    llm = Model.of(about)
    second = summarise({"c9": "x", "c2": "z"}, store, llm, PROMPTS)
    assert [r.messages[-1].content for r in llm.requests] == ["z"]
    assert (second.texts, second.reused) == ({"c9": "About x.", "c2": "About z."}, 1)


def test_a_failed_summary_is_counted_not_stored_and_asked_again(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path)

    def bad(request: Request) -> str:
        return "<think>long" if request.messages[-1].content == "y" else "fine"

    first = summarise({"c1": "x", "c2": "y"}, store, Model.of(bad), PROMPTS)
    assert (first.texts, first.failed) == ({"c1": "fine"}, 1)
    assert first.usage["summarise"].calls == 2
    llm = Model.of(about)
    second = summarise({"c1": "x", "c2": "y"}, store, llm, PROMPTS)
    assert (len(llm.requests), second.failed, second.reused) == (1, 0, 1)
    assert second.texts["c2"] == "About y."


def test_a_failed_call_costs_one_community_and_a_dead_backend_is_told(tmp_path: Path) -> None:
    class Failing(Model):
        async def complete(self, request: Request) -> Completion:
            if request.messages[-1].content == "y":
                raise LLMError("connection refused")
            return await super().complete(request)

    store = ArtifactStore(tmp_path)
    assert summarise({"c1": "x", "c2": "y"}, store, Failing.of(about), PROMPTS).failed == 1
    with pytest.raises(LLMError, match=r"summarise communities.*connection refused"):
        summarise({"c2": "y"}, store, Failing.of(about), PROMPTS)


def test_another_length_or_model_is_another_summary(tmp_path: Path) -> None:
    store, llm = ArtifactStore(tmp_path), Model.of(about)
    summarise({"c": "x"}, store, llm, PROMPTS, max_tokens=10)
    summarise({"c": "x"}, store, llm, PROMPTS, max_tokens=20)
    assert [r.max_tokens for r in llm.requests] == [10, 20]


def test_no_community_asks_nothing(tmp_path: Path) -> None:
    found = summarise({}, ArtifactStore(tmp_path), Model.of([]), PROMPTS)
    assert (found.texts, found.failed, found.usage) == ({}, 0, {})


@pytest.mark.parametrize("reply", ["", " \n", "...", "<think>only thoughts</think>"])
def test_a_reply_without_words_is_no_summary(reply: str) -> None:
    with pytest.raises(ParseError, match="no summary"):
        read_summary(reply)
