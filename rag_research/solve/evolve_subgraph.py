"""The constructor: a sub-graph that grows with the sub-question (ToG-3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from rag_research.graph.heterogeneous import Relation
from rag_research.graph.subgraph import Subgraph
from rag_research.llm.base import LLM
from rag_research.prompts.library import PromptLibrary
from rag_research.solve.evidence import cut, fitting
from rag_research.solve.extract_for_question import extract_for_question
from rag_research.solve.provenance import INFERRED, Inferred
from rag_research.solve.refine import refine
from rag_research.solve.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class Evolution:
    """What the constructor did.

    Args:
        subgraph: the next one.
        read: ids of the chunks it extracted from.
        made: triplets it extracted or refined, hidden ones included.
        unreadable: replies that could not be read, by agent.
    """

    subgraph: Subgraph
    read: tuple[str, ...] = ()
    made: tuple[Relation, ...] = ()
    unreadable: Mapping[str, int] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """Triplets made by origin, and replies that could not be read by agent."""
        counts = Counter[str](relation.origin for relation in self.made)
        counts.update({f"unreadable_{agent}": n for agent, n in self.unreadable.items()})
        return dict(counts)


CONSTRUCTOR = ("extract_for_question", "refine")
Evolve = Callable[[LLM, PromptLibrary, Trajectory, str, Subgraph, Inferred], Awaitable[Evolution]]


async def by_llm(
    llm: LLM,
    prompts: PromptLibrary,
    state: Trajectory,
    query: str,
    found: Subgraph,
    inferred: Inferred,
) -> Evolution:
    """Extract from chunks not read before, then refine all triplets at hand.

    Triplets of the sub-graph before this one are refined again with the new query in view, so
    what it does not need is dropped. When the refined list cannot be read, all of them stay.

    Args:
        llm: the frozen reader.
        prompts: the prompt files.
        state: with the sub-graph before this one.
        query: the new sub-question.
        found: what was retrieved for it.
        inferred: whether triplets that no chunk supports may be kept.
    """
    allowed = INFERRED[inferred]
    unreadable: Counter[str] = Counter()
    new = [chunk for chunk in found.chunks if chunk.id not in state.chunks_read]
    extracted: list[Relation] = []
    for chunk in new:
        parsed = await extract_for_question(llm, prompts, query, cut(chunk, state.words))
        unreadable["extract_for_question"] += parsed.rejected
        extracted += parsed.value or ()
    known = tuple(dict.fromkeys([*found.relations, *allowed(extracted), *state.subgraph.relations]))
    made, kept = tuple(extracted), known
    if known:  # nothing at hand is nothing to refine
        shown, _ = fitting(found.chunks, state.words)
        refined = await refine(llm, prompts, query, known, shown)
        unreadable["refine"] += refined.rejected
        made += tuple(r for r in refined.value or () if r not in known)
        kept = known if refined.value is None else allowed(refined.value)
    return Evolution(
        found.with_relations(kept, state.subgraph),
        tuple(chunk.id for chunk in new),
        tuple(dict.fromkeys(made)),
        unreadable,
    )


async def by_retrieval(
    llm: LLM,
    prompts: PromptLibrary,
    state: Trajectory,
    query: str,
    found: Subgraph,
    inferred: Inferred,
) -> Evolution:
    """The ablation: what was retrieved is the sub-graph."""
    return Evolution(found)


EVOLUTIONS: dict[str, Evolve] = {"llm": by_llm, "none": by_retrieval}
