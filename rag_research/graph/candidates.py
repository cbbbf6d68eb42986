"""What a selector chooses from, and what is told about every span along the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rag_research.embed.base import Vectors
from rag_research.graph.lexical_join import Floats


@dataclass(frozen=True, slots=True)
class Query:
    """A question as pathfinding sees it.

    Args:
        text: as asked.
        vector: its unit vector, [D].
        entities: keys of the entities it names.
        missing: what the evidence was found to lack so far, each as a query of its own.
    """

    text: str
    vector: Vectors
    entities: frozenset[str] = frozenset()
    missing: tuple[Query, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidates:
    """The spans of a query-time graph with their scores; nodes are numbered as in ``graph``.

    Args:
        query: what is looked for.
        graph: PyTorch Geometric ``Data`` as :meth:`Topology.data` gives it; its ``edge_attr``
            has the three values of each edge, its ``nodes`` the spans.
        scores: anchor score of each node, [N].
        anchors: the chosen anchors, best first.
        seeds: initial energy, sums to 1 unless the graph is empty, [N].
        energy: energy after diffusion, same sum, [N].
        retrieval: score of each document in retrieval.
        learned: ``scores`` are keep probabilities of a path selector.
    """

    query: Query
    graph: Any
    scores: Floats
    anchors: Sequence[int]
    seeds: Floats
    energy: Floats
    retrieval: Mapping[str, float] = field(default_factory=dict)
    learned: bool = False

    def by_energy(self) -> list[int]:
        """Nodes that hold energy, highest first; ties in graph order."""
        held = [n for n in range(len(self.energy)) if self.energy[n] > 0]
        return sorted(held, key=lambda n: (-self.energy[n], n))
