"""Question -> query triplets with variables (T2RAG, step 1 of the online loop)."""

from __future__ import annotations

from rag_research.errors import ParseError
from rag_research.llm.base import LLM, Request
from rag_research.llm.structured import complete_structured
from rag_research.prompts.library import PromptLibrary
from rag_research.solve.triplet_lines import SCHEMA, read_triplets
from rag_research.types import Triplet

PROMPTS = ("t2rag/decompose", "t2rag/decompose_short")


async def decompose(llm: LLM, prompts: PromptLibrary, question: str) -> tuple[Triplet, ...]:
    """The facts a question needs, as triplets with variables.

    A failed decomposition is tried once more with a shorter prompt.

    Returns:
        Empty when both prompts failed; the caller then falls back to the question itself.
    """
    for name in PROMPTS:
        prompt = prompts[name]
        request = Request(
            prompt.render(question=question),
            max_tokens=200,
            schema=SCHEMA,
            purpose="decompose",
            prompt=prompt.label,
        )
        parsed = await complete_structured(llm, request, _at_least_one, prompts)
        if parsed.value:
            return parsed.value
    return ()


def _at_least_one(value: object) -> tuple[Triplet, ...]:
    triplets = read_triplets(value)
    if not triplets:
        raise ParseError("the list of triplets is empty")
    return triplets
