"""The last step of every system: the shortest exact answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag_research.llm.base import LLM, Request
from rag_research.prompts.library import PromptLibrary
from rag_research.solve.triplet_lines import triplet_lines
from rag_research.types import Passage, Triplet

_LABEL = re.compile(r"^(the )?(final )?answer( is)?\s*:\s*", re.IGNORECASE)
_REASONING = re.compile(r"<think>.*?</think>", re.DOTALL)


async def answer_from_memory(llm: LLM, prompts: PromptLibrary, question: str) -> str:
    """Answer without any context."""
    return await _ask(llm, prompts, "answer/closed_book", question=question)


async def answer_from_passages(
    llm: LLM, prompts: PromptLibrary, question: str, passages: Sequence[Passage]
) -> str:
    """Answer from numbered passages, best first."""
    shown = [f"[{number}] {p.contents}" for number, p in enumerate(passages, start=1)]
    text = "\n\n".join(shown) or "none"
    return await _ask(llm, prompts, "answer/passages", passages=text, question=question)


async def answer_from_triplets(
    llm: LLM, prompts: PromptLibrary, question: str, facts: Sequence[Triplet]
) -> str:
    """Answer from triplets alone (T2RAG's synthesis)."""
    text = triplet_lines(facts) or "none"
    return await _ask(llm, prompts, "t2rag/synthesise", facts=text, question=question)


def clean_answer(reply: str) -> str:
    """The answer in a reply: no reasoning block, first line, no label, quotes or full stop."""
    lines = [line.strip() for line in _REASONING.sub("", reply).splitlines() if line.strip()]
    if not lines:
        return ""
    text = _LABEL.sub("", lines[0]).strip().strip("\"'`*").strip()
    abbreviation = re.search(r"(\b[A-Z]|\b(?:Jr|Sr|St|Inc|Ltd|Co|etc))\.$", text)
    return text if abbreviation else text.rstrip(".")


async def _ask(llm: LLM, prompts: PromptLibrary, name: str, **values: str) -> str:
    prompt = prompts[name]
    request = Request(
        prompt.render(**values), max_tokens=48, stop=("\n",), purpose="answer", prompt=prompt.label
    )
    return clean_answer((await llm.complete(request)).text)
