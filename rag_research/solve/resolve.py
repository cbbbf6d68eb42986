"""Fill the variables of query triplets from retrieved text (T2RAG, step 3 of the loop)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rag_research.llm.base import LLM, Request
from rag_research.llm.structured import complete_structured
from rag_research.prompts.library import PromptLibrary
from rag_research.solve.query_triplets import QueryTriplets
from rag_research.solve.triplet_lines import SCHEMA, read_triplets, triplet_lines
from rag_research.types import Passage, Triplet

Context = Callable[[Sequence[str], Sequence[Passage]], str]


def propositions_and_chunks(propositions: Sequence[str], chunks: Sequence[Passage]) -> str:
    """Propositions, best first, then the text of their source chunks (the paper's context)."""
    texts = [chunk.contents for chunk in chunks]
    return "\n".join([*propositions, "", "\n\n".join(texts)]).strip()


def propositions_only(propositions: Sequence[str], chunks: Sequence[Passage]) -> str:
    """The ablation without source chunks."""
    return "\n".join(propositions)


CONTEXTS: dict[str, Context] = {
    "chunks": propositions_and_chunks,
    "propositions": propositions_only,
}


async def resolve(
    llm: LLM, prompts: PromptLibrary, question: str, state: QueryTriplets, context: str
) -> tuple[Triplet, ...] | None:
    """Ask for the pending triplets with their variables filled.

    Args:
        llm: the frozen reader.
        prompts: the prompt files.
        question: the question as asked.
        state: its pending triplets are asked for, its resolved ones are shown.
        context: what the answer must rest on.

    Returns:
        Triplets as the model returned them, with fewer variables where it found something;
        ``None`` when no reply could be read.
    """
    prompt = prompts["t2rag/resolve"]
    request = Request(
        prompt.render(
            context=context or "nothing was found",
            question=question,
            known=triplet_lines(state.resolved) or "none",
            pending=triplet_lines(state.pending) or "none",
        ),
        max_tokens=200,
        schema=SCHEMA,
        purpose="resolve",
        prompt=prompt.label,
    )
    return (await complete_structured(llm, request, read_triplets, prompts)).value
