"""The reflector: is what was found sufficient to answer the question? (ToG-3)"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rag_research.errors import ParseError
from rag_research.llm.base import LLM, Request
from rag_research.llm.structured import Parsed, complete_structured, pick, pick_yes_no
from rag_research.prompts.library import PromptLibrary
from rag_research.solve.trajectory import NOTHING, Trajectory, is_unknown
from rag_research.text.normalise import normalise_answer

# What is missing comes first: a small model that has named it judges better.
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"missing": {"type": "string"}, "sufficient": {"type": "boolean"}},
    "required": ["sufficient", "missing"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Reflection:
    """What the reflector found.

    Args:
        sufficient: the question can be answered.
        missing: what is still needed, in words; may be empty.
    """

    sufficient: bool
    missing: str = ""


INSUFFICIENT = Reflection(False)


async def reflect(llm: LLM, prompts: PromptLibrary, state: Trajectory) -> Parsed[Reflection]:
    """Judge question, sub-graph and answer.

    The answer ``Unknown`` is insufficient by definition: the model is not asked.

    Returns:
        Rejected when no reply could be read.
    """
    if is_unknown(state.present.answer):
        return Parsed(INSUFFICIENT)
    prompt = prompts["tog3/reflect"]
    request = Request(
        prompt.render(
            question=state.question,
            evidence=state.present_evidence,
            found=state.findings,
        ),
        max_tokens=80,
        schema=SCHEMA,
        purpose="reflect",
        prompt=prompt.label,
    )
    return await complete_structured(llm, request, read_reflection, prompts)


def read_reflection(value: Any) -> Reflection:
    """The verdict in a decoded reply.

    One that says sufficient, and then names what is missing, is read as insufficient.

    Raises:
        ParseError: it does not say whether what was found is sufficient.
    """
    sufficient = pick_yes_no(value, "sufficient", "enough", "answerable")
    try:
        missing = pick(value, "missing", "needed")
    except ParseError:
        missing = ""
    text = " ".join(missing.split()) if isinstance(missing, str) else ""
    if normalise_answer(text) in NOTHING:
        text = ""
    return Reflection(sufficient and not text, text)
