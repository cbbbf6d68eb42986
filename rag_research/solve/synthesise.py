"""The last step: reason over the evidence, answer in a tag."""

from __future__ import annotations

import re

from rag_research.llm.base import LLM, Request
from rag_research.prompts.library import PromptLibrary
from rag_research.solve.answer import clean_answer

_TAG = re.compile(r"<answer>(.*?)(?=</?answer>|\Z)", re.DOTALL | re.IGNORECASE)
_ANY_TAG = re.compile(r"</?answer>", re.IGNORECASE)


async def synthesise(llm: LLM, prompts: PromptLibrary, question: str, evidence: str) -> str:
    """Answer from evidence: a sentence or two of reasoning, then ``<answer>...</answer>``."""
    prompt = prompts["threadrag/synthesise"]
    request = Request(
        prompt.render(evidence=evidence or "nothing was found", question=question),
        max_tokens=192,
        stop=("</answer>",),
        purpose="answer",
        prompt=prompt.label,
    )
    return tagged_answer((await llm.complete(request)).text)


def tagged_answer(reply: str) -> str:
    """What stands in the last filled answer tag, else the last non-empty line.

    Example:
        >>> tagged_answer("Elin was born in Norvia. <answer>Norvia</answer>")
        'Norvia'
    """
    filled = [text for match in _TAG.finditer(reply) if (text := clean_answer(match[1]))]
    if filled:
        return filled[-1]
    lines = [line for line in _ANY_TAG.sub(" ", reply).splitlines() if line.strip()]
    return clean_answer(lines[-1]) if lines else ""
