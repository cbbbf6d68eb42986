"""Energy-Driven Pathfinding: anchors, diffusion, selection, connectivity.

Source: ThreadRAG. Each step is a slot with a null object; the same graph and question give the
same spans to the byte.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rag_research.config.build import slot
from rag_research.graph.anchors import CHARGES, CHOICES, anchor_scores
from rag_research.graph.candidates import Candidates, Query
from rag_research.graph.diffusion import DIFFUSIONS
from rag_research.registry import SELECTORS

Connect = Callable[[Any, Sequence[int], Sequence[int]], list[int]]


@dataclass(frozen=True, slots=True)
class PathfindingConfig:
    """Settings of :func:`find_paths`.

    Args:
        anchors: spans that energy starts from (3).
        entity_boost: lambda, weight of shared entities in the anchor score (0.5).
        choice: anchors by score alone, or first the best span of each question entity.
        charge: initial energy from positive scores, or from their softmax.
        diffusion: how energy spreads; ``none`` leaves it on the anchors.
        restart: share of energy that stays at the anchors (0.5).
        selector: which spans are kept.
        connectivity: drop what cannot be reached from the anchors over kept spans, or not.
    """

    anchors: int = 3
    entity_boost: float = 0.5
    choice: Literal["best", "entity_quota"] = "best"
    charge: Literal["positive", "softmax"] = "positive"
    diffusion: Literal["ppr", "push", "exact", "one_hop", "none"] = "ppr"
    restart: float = 0.5
    selector: Any = slot(SELECTORS, "threshold")
    connectivity: Literal["bfs", "none"] = "bfs"

    def __post_init__(self) -> None:
        if self.anchors < 1 or not 0 < self.restart <= 1:
            raise ValueError(
                f"needs anchors >= 1 and restart in (0, 1], got {self.anchors} and {self.restart}"
            )


@dataclass(frozen=True, slots=True)
class Paths:
    """What pathfinding found.

    Args:
        candidates: every span with its score, seed and energy.
        selected: numbers of the spans the selector kept, ascending.
        kept: those of them that are left after the connectivity step, ascending.
    """

    candidates: Candidates
    selected: Sequence[int]
    kept: Sequence[int]


def find_paths(
    graph: Any,
    query: Query,
    config: PathfindingConfig,
    retrieval: Mapping[str, float] | None = None,
) -> Paths:
    """The spans of ``graph`` that ``query`` needs.

    Args:
        graph: as :meth:`Topology.data` gives it; may be empty.
        query: the question.
        config: which part fills each slot.
        retrieval: score of each document in retrieval, for selectors that read it.
    """
    scores = anchor_scores(graph, query, config.entity_boost)
    anchors = CHOICES[config.choice](scores, graph, query, config.anchors)
    seeds = CHARGES[config.charge](scores, anchors)
    energy = DIFFUSIONS[config.diffusion](graph, seeds, config.restart)
    candidates = Candidates(query, graph, scores, anchors, seeds, energy, retrieval or {})
    selected = SELECTORS.get(config.selector.name)(config.selector).select(candidates)
    kept = CONNECTIVITY[config.connectivity](graph, selected, anchors)
    return Paths(candidates, selected, kept)


def bfs(graph: Any, selected: Sequence[int], anchors: Sequence[int]) -> list[int]:
    """What a breadth-first search from the anchors reaches over selected spans alone."""
    allowed = set(selected)
    neighbours: dict[int, list[int]] = {}
    for source, target in graph.edge_index.t().tolist():
        if source in allowed and target in allowed:
            neighbours.setdefault(source, []).append(target)
    front = [anchor for anchor in anchors if anchor in allowed]
    reached = set(front)
    while front:
        front = [n for node in front for n in neighbours.get(node, ()) if n not in reached]
        reached.update(front)
    return sorted(reached)


def keep_unconnected(graph: Any, selected: Sequence[int], anchors: Sequence[int]) -> list[int]:
    """The null object of connectivity: everything selected stays."""
    return list(selected)


CONNECTIVITY: dict[str, Connect] = {"bfs": bfs, "none": keep_unconnected}
