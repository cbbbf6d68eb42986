"""Question -> the things it names, to look them up and to find anchors by."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from rag_research.errors import ParseError
from rag_research.llm.base import LLM, Request
from rag_research.llm.structured import complete_structured, pick
from rag_research.prompts.library import PromptLibrary
from rag_research.text.entities import capitalised_spans, entity_key

Entities = Callable[[LLM, PromptLibrary, str], Awaitable[tuple[str, ...]]]

SCHEMA: Mapping[str, Any] = {"type": "array", "items": {"type": "string"}}
_QUOTED = re.compile(r"[\"“«]([^\"“”«»]{2,80})[\"”»]")


async def entities_by_llm(llm: LLM, prompts: PromptLibrary, question: str) -> tuple[str, ...]:
    """What the model says the question names; by spelling when its reply is unusable.

    What does not stand in the question as written is dropped: a small model invents names and
    makes names of common nouns. In a question without capitals case does not count.
    """
    prompt = prompts["threadrag/entities"]
    request = Request(
        prompt.render(question=question),
        max_tokens=80,
        schema=SCHEMA,
        purpose="entities",
        prompt=prompt.label,
    )
    parsed = await complete_structured(llm, request, _read_names, prompts)
    if parsed.value is None:
        return spelled_entities(question)
    fold = str.lower if question[1:] == question[1:].lower() else str
    asked = " ".join(fold(question).split())
    return tuple(name for name in parsed.value if fold(name) in asked)


async def entities_by_spelling(llm: LLM, prompts: PromptLibrary, question: str) -> tuple[str, ...]:
    """:func:`spelled_entities`; the model is not asked."""
    return spelled_entities(question)


def spelled_entities(question: str) -> tuple[str, ...]:
    """Quoted texts and runs of capitalised words, each once."""
    names = [*_QUOTED.findall(question), *capitalised_spans(question)]
    return _distinct(names)


QUESTION_ENTITIES: dict[str, Entities] = {
    "llm": entities_by_llm,
    "spelling": entities_by_spelling,
}


def _read_names(value: Any) -> tuple[str, ...]:
    if isinstance(value, Mapping):
        value = pick(value, "entities", "names")
    if not isinstance(value, list):
        raise ParseError(f"expected a list of names, got {type(value).__name__}")
    return _distinct([name for name in value if isinstance(name, str)])


def _distinct(names: list[str]) -> tuple[str, ...]:
    by_key = {entity_key(name): " ".join(name.split()) for name in reversed(names)}
    by_key.pop("", None)
    return tuple(dict.fromkeys(by_key[k] for n in names if (k := entity_key(n)) in by_key))
