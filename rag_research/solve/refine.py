"""Triplets put in order for a sub-question (the constructor of ToG-3, second half)."""

from __future__ import annotations

from collections.abc import Sequence

from rag_research.graph.heterogeneous import Relation
from rag_research.graph.subgraph import Element, readable
from rag_research.llm.base import LLM, Request
from rag_research.llm.structured import Parsed, complete_structured
from rag_research.prompts.library import PromptLibrary
from rag_research.solve.placeholders import count_variables
from rag_research.solve.provenance import origin_of
from rag_research.solve.triplet_lines import SCHEMA, read_triplets, triplet_lines


async def refine(
    llm: LLM,
    prompts: PromptLibrary,
    query: str,
    known: Sequence[Relation],
    chunks: Sequence[Element],
) -> Parsed[tuple[Relation, ...]]:
    """Drop what is of no use, normalise names, add what the chunks state.

    Args:
        llm: the frozen reader.
        prompts: the prompt files.
        query: the present sub-question.
        known: triplets retrieved or extracted so far.
        chunks: texts to check against.

    Returns:
        What is left, each with its origin. Rejected when no reply could be read.
    """
    prompt = prompts["tog3/refine"]
    request = Request(
        prompt.render(
            passages=readable(chunks),
            facts=triplet_lines(dict.fromkeys(r.triplet for r in known)),
            query=query,
        ),
        max_tokens=256,
        schema=SCHEMA,
        purpose="refine",
        prompt=prompt.label,
    )
    parsed = await complete_structured(llm, request, read_triplets, prompts)
    texts = {chunk.id: chunk.text for chunk in chunks}
    returned = [t for t in parsed.value or () if not count_variables(t)]
    refined = tuple(dict.fromkeys(r for t in returned for r in origin_of(t, known, texts)))
    return Parsed(None if parsed.rejected else refined, parsed.attempts, parsed.error)
