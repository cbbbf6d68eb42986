"""The last step: the shortest exact answer, or a free one where the prompt file asks for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from rag_research.llm.base import LLM, Request
from rag_research.llm.structured import without_reasoning
from rag_research.prompts.library import Prompt, PromptLibrary
from rag_research.solve.triplet_lines import triplet_lines
from rag_research.types import Passage, Triplet

_SHORT = 48  # tokens of the shortest exact answer
_REASONED = 1024  # tokens of a block of reasoning with an answer after it
_LABEL = re.compile(r"^(the )?(final )?answer( is)?\s*:\s*", re.IGNORECASE)
_MARKS = "\"'`*"


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


async def free_answer(llm: LLM, prompt: Prompt, **values: str) -> str:
    """An answer to an open question: as long as the prompt's line ``reply: N`` allows, kept whole.

    Args:
        llm: the frozen reader.
        prompt: with its ``reply_tokens``.
        **values: its fields.
    """
    request = Request(
        prompt.render(**values),
        max_tokens=prompt.reply_tokens or _SHORT,
        purpose="answer",
        prompt=prompt.label,
    )
    return _LABEL.sub("", without_reasoning((await llm.complete(request)).text).strip())


async def answer_line(llm: LLM, request: Request) -> str:
    """The reply to a request for one line.

    A reasoning model breaks the line inside its block of reasoning. A reply that is nothing else
    is followed by the same request without stop strings and with room for the whole block.
    """
    first = replace(request, accept=_or_reasoning(request.accept))
    reply = (await llm.complete(first)).text
    if not _only_reasoning(reply):
        return reply
    return (await llm.complete(replace(request, stop=(), max_tokens=_REASONED))).text


def clean_answer(reply: str) -> str:
    """The answer in a reply: no reasoning block, first line, no label, quotes or full stop."""
    lines = [line.strip() for line in without_reasoning(reply).splitlines() if line.strip()]
    if not lines:
        return ""
    text = _unwrapped(_LABEL.sub("", lines[0]).strip()).strip(_MARKS).strip()
    abbreviation = re.search(r"(\b[A-Z]|\b(?:Jr|Sr|St|Inc|Ltd|Co|etc))\.$", text)
    return text if abbreviation else text.rstrip(".")


def _unwrapped(text: str) -> str:
    """Without pairs of marks around the whole, and full stops behind them: ``**"Keld".**``."""
    while True:
        inner = text.rstrip(". ")
        if len(inner) < 2 or inner[0] not in _MARKS or inner[0] != inner[-1]:
            return text
        text = inner[1:-1].strip()


def _only_reasoning(reply: str) -> bool:
    return bool(reply.strip()) and not without_reasoning(reply).strip()


def _or_reasoning(accept: Callable[[str], object] | None) -> Callable[[str], object] | None:
    """``accept``, and what leads to another request: the next run need not ask again for it."""
    return accept and (lambda reply: _only_reasoning(reply) or accept(reply))


async def _ask(llm: LLM, prompts: PromptLibrary, name: str, **values: str) -> str:
    prompt = prompts[name]
    if prompt.reply_tokens is not None:
        return await free_answer(llm, prompt, **values)
    request = Request(
        prompt.render(**values),
        max_tokens=_SHORT,
        stop=("\n",),
        purpose="answer",
        prompt=prompt.label,
    )
    return clean_answer(await answer_line(llm, request))
