"""Triplets of one chunk with a sub-question in view (the constructor of ToG-3, first half)."""

from __future__ import annotations

from rag_research.graph.heterogeneous import Relation
from rag_research.graph.subgraph import Element
from rag_research.llm.base import LLM, Request
from rag_research.llm.structured import Parsed, complete_structured
from rag_research.prompts.library import PromptLibrary
from rag_research.solve.placeholders import count_variables
from rag_research.solve.provenance import names_both
from rag_research.solve.triplet_lines import SCHEMA, read_triplets

MOST = 2


async def extract_for_question(
    llm: LLM, prompts: PromptLibrary, query: str, chunk: Element
) -> Parsed[tuple[Relation, ...]]:
    """At most two triplets of a chunk that help to answer ``query``.

    One whose subject or object does not stand in the chunk is ``inferred``: with a question in
    view a model answers from memory too.

    Returns:
        Rejected when no reply could be read.
    """
    prompt = prompts["tog3/extract_for_question"]
    request = Request(
        prompt.render(passage=chunk.text, query=query),
        max_tokens=96,
        schema=SCHEMA,
        purpose="extract_for_question",
        prompt=prompt.label,
    )
    parsed = await complete_structured(llm, request, read_triplets, prompts)
    facts = [t for t in parsed.value or () if not count_variables(t)]
    relations = tuple(
        Relation(t, chunk.id) if names_both(chunk.text, t) else Relation(t, "", "inferred")
        for t in facts[:MOST]
    )
    return Parsed(None if parsed.rejected else relations, parsed.attempts, parsed.error)
