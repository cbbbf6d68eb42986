"""Query evolution: the one sub-question to look up next, or none (ToG-3)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from rag_research.errors import ParseError
from rag_research.llm.base import LLM, Request
from rag_research.llm.structured import Parsed, complete_structured, pick
from rag_research.prompts.library import PromptLibrary
from rag_research.solve.trajectory import NOTHING, Trajectory
from rag_research.text.normalise import normalise_answer

# What to find out is named first: without that a small model repeats the question it was given.
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"next": {"type": "string"}, "question": {"type": "string"}},
    "required": ["next", "question"],
    "additionalProperties": False,
}

_AFTER_MARK = re.compile(r"\?[?!]*(\s+)(\S)")
_OPENING = "\"'“”„‘«¿¡"


async def evolve_query(
    llm: LLM, prompts: PromptLibrary, state: Trajectory, missing: str
) -> Parsed[str]:
    """Ask for the next sub-question.

    Args:
        llm: the frozen reader.
        prompts: the prompt files.
        state: question, sub-graph and what was found.
        missing: what the reflector says is needed; may be empty.

    Returns:
        Empty when the model sees none, or asks what was asked before. Rejected when no reply
        could be read.
    """
    prompt = prompts["tog3/evolve_query"]
    request = Request(
        prompt.render(
            question=state.question,
            evidence=state.present_evidence,
            found=state.findings,
            missing=missing or "not known",
        ),
        max_tokens=96,
        schema=SCHEMA,
        purpose="evolve_query",
        prompt=prompt.label,
    )
    return await complete_structured(llm, request, partial(read_step, state), prompts)


def read_step(state: Trajectory, value: Any) -> str:
    """The next question in a decoded reply; empty for none.

    A small model often names the right thing and then repeats a question of before; then it is
    asked for the thing it named.

    Raises:
        ParseError: there is no question.
    """
    question = read_sub_question(value)
    if not question or not state.asked(question):
        return question
    try:
        named = pick(value, "next", "next_thing")
    except ParseError:
        return ""
    thing = " ".join(named.split()).rstrip("?. ") if isinstance(named, str) else ""
    asked = "" if normalise_answer(thing) in NOTHING else f"What is {thing}?"
    return "" if state.asked(asked) else asked


def read_sub_question(value: Any) -> str:
    """The question in a decoded reply; empty for none.

    Raises:
        ParseError: there is no question.
    """
    asked = pick(value, "question", "sub_question", "query", "next_question")
    if isinstance(asked, list):
        asked = asked[0] if asked else ""
    if asked is not None and not isinstance(asked, str):
        raise ParseError(f"'question' must be a string, got {type(asked).__name__}.")
    text = " ".join(_first_question(asked or "").split())
    return "" if normalise_answer(text) in NOTHING else text


def _first_question(text: str) -> str:
    """``text`` up to its first question mark that is not inside a title.

    Behind the end of a question there is a new line or a new sentence; in
    ``When did the director of Are You Being Served? die?`` the first mark is no end.
    """
    text = text.strip()
    for match in _AFTER_MARK.finditer(text):
        space, begins = match.groups()
        if "\n" in space or begins in _OPENING or (begins.isalpha() and not begins.islower()):
            return text[: match.start() + 1]
    until_last = text[: text.rfind("?") + 1]
    return until_last.rstrip("?") + "?" if until_last else text
