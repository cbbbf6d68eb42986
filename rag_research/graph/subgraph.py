"""What one round of ToG-3 works with: a few nodes of the graph, and triplets made on the way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rag_research.graph.heterogeneous import (
    HeterogeneousGraph,
    Kind,
    Relation,
    triplet_node_id,
)
from rag_research.types import Hit

NEAR = 0.5  # of the score of the node through which something was reached


@dataclass(frozen=True, slots=True)
class Element:
    """A node of the graph, or a triplet that is in no node.

    Args:
        id: of the node, or what the triplet's node would be called.
        kind: chunk, triplet or community.
        text: what the model reads.
        score: from retrieval.
        passages: ids of the passages behind it.
        relation: the triplet, of an element that is one.
    """

    id: str
    kind: Kind
    text: str
    score: float
    passages: tuple[str, ...]
    relation: Relation | None = None


@dataclass(frozen=True, slots=True)
class Subgraph:
    """Elements, best first; the triplets that a constructor made come last."""

    elements: tuple[Element, ...] = ()

    @classmethod
    def found(cls, graph: HeterogeneousGraph, hits: Iterable[Hit]) -> Subgraph:
        """The nodes that were retrieved.

        Args:
            graph: holds them.
            hits: their ids and scores, best first.
        """
        return cls(
            tuple(
                Element(
                    hit.id,
                    graph.node(hit.id).kind,
                    graph.node(hit.id).text,
                    hit.score,
                    graph.passages(hit.id),
                    graph.relations.get(hit.id),
                )
                for hit in hits
            )
        )

    @property
    def chunks(self) -> tuple[Element, ...]:
        """The chunks among the elements."""
        return tuple(e for e in self.elements if e.kind == "chunk")

    @property
    def relations(self) -> tuple[Relation, ...]:
        """The triplets among the elements."""
        return tuple(e.relation for e in self.elements if e.relation is not None)

    def with_relations(self, relations: Iterable[Relation], before: Subgraph) -> Subgraph:
        """The same chunks and communities with these triplets in place of the present ones.

        A triplet that was retrieved keeps its score and place. Another one comes after all that
        was retrieved, with half the score of its chunk, as a neighbour of it has in retrieval.

        Args:
            relations: in any order, each once.
            before: the sub-graph before this one; chunks of older triplets may be in it alone.
        """
        wanted = {triplet_node_id(relation): relation for relation in relations}
        known = {e.id: e for e in (*before.elements, *self.elements)}
        kept = [e for e in self.elements if e.relation is None or e.id in wanted]
        here = {e.id for e in kept}
        made = [_made(id, relation, known) for id, relation in wanted.items() if id not in here]
        return Subgraph((*kept, *made))

    def described(self) -> dict[str, Any]:
        """Ids and scores, triplets, and what is said of communities, as a trace keeps them."""
        return {
            "nodes": [[e.id, round(e.score, 6)] for e in self.elements],
            "triplets": [[*r.triplet, r.origin] for r in self.relations],
            "communities": {e.id: e.text for e in self.elements if e.kind == "community"},
        }


def readable(elements: Sequence[Element]) -> str:
    """Elements as the model reads them, each text once."""
    texts = dict.fromkeys(e.text.strip() for e in elements)
    return "\n\n".join(filter(None, texts)) or "nothing was found"


def _made(id: str, relation: Relation, known: dict[str, Element]) -> Element:
    if id in known:
        return known[id]
    chunk = known.get(relation.chunk)
    score = chunk.score if chunk else 0.0
    return Element(
        id,
        "triplet",
        relation.text,
        min(score, NEAR * score),  # half of what is below zero would be more
        chunk.passages if chunk else (),
        relation,
    )
