"""Energy-Driven Pathfinding: anchors, diffusion, selection, connectivity.

Source: ThreadRAG. Each step is a slot with a null object; the same graph and question give the
same spans to the byte.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from rag_research.config.build import slot
from rag_research.graph.anchors import CHARGES, CHOICES, anchor_scores, best
from rag_research.graph.candidates import Candidates, Query
from rag_research.graph.diffusion import DIFFUSIONS
from rag_research.graph.lexical_join import Floats
from rag_research.registry import SELECTORS

Connect = Callable[[Any, Sequence[int], Sequence[int]], list[int]]


@dataclass(frozen=True, slots=True)
class PathfindingConfig:
    """Settings of :func:`find_paths`.

    Args:
        anchors: spans that energy starts from (3); with ``focus: question_and_missing`` as
            many again, once the discriminator has said what is missing.
        focus: what anchors are looked for by. The paper reruns pathfinding on folded-in
            documents and does not say what by; by the question alone, a document that was
            retrieved for a missing fact hardly ever holds enough energy to be read.
        entity_boost: lambda, weight of shared entities in the anchor score (0.5).
        choice: anchors by score alone, or first the best span of each question entity.
        charge: initial energy from positive scores, or from their softmax.
        diffusion: how energy spreads; ``none`` leaves it on the anchors.
        restart: share of energy that stays at the anchors (0.5).
        selector: which spans are kept.
        connectivity: drop what cannot be reached from the anchors over kept spans (``bfs``, the
            paper's), or not. Behind the learned selector it drops gold spans: the links it follows
            are those between passages.
    """

    anchors: int = 3
    focus: Literal["question_and_missing", "question"] = "question_and_missing"
    entity_boost: float = 0.5
    choice: Literal["best", "entity_quota"] = "best"
    charge: Literal["positive", "softmax"] = "positive"
    diffusion: Literal["ppr", "push", "exact", "one_hop", "none"] = "ppr"
    restart: float = 0.5
    selector: Any = slot(SELECTORS, "learned")
    connectivity: Literal["bfs", "none"] = "none"

    def __post_init__(self) -> None:
        if self.anchors < 1 or not 0 < self.restart <= 1:
            raise ValueError(
                f"needs anchors >= 1 and restart in (0, 1], got {self.anchors} and {self.restart}"
            )


Focus = Callable[[Any, Query, PathfindingConfig], tuple[Floats, list[int]]]


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
    learned: Floats | None = None,
) -> Paths:
    """The spans of ``graph`` that ``query`` needs.

    Args:
        graph: as :meth:`Topology.data` gives it; may be empty.
        query: the question.
        config: which part fills each slot.
        retrieval: score of each document in retrieval, for selectors that read it.
        learned: keep probability of each node, where a path selector gave one, [N]. Where
            ``config.selector`` goes by it, it takes the place of anchor scores and diffusion, which
            are inside its network.
    """
    selector = SELECTORS.get(config.selector.name)(config.selector)
    if not selector.learned:
        learned = None
    if learned is None:
        scores, anchors = FOCUS[config.focus](graph, query, config)
        seeds = CHARGES[config.charge](scores, anchors)
        energy = DIFFUSIONS[config.diffusion](graph, seeds, config.restart)
    else:
        scores, anchors = learned, best(learned, graph, query, config.anchors)
        seeds = energy = learned / max(learned.sum(), 1e-9)
    candidates = Candidates(
        query, graph, scores, anchors, seeds, energy, retrieval or {}, learned is not None
    )
    selected = selector.select(candidates)
    kept = CONNECTIVITY[config.connectivity](graph, selected, anchors)
    return Paths(candidates, selected, kept)


def by_question(graph: Any, query: Query, config: PathfindingConfig) -> tuple[Floats, list[int]]:
    """Scores against the question, and the anchors chosen by them."""
    scores = anchor_scores(graph, query, config.entity_boost)
    return scores, CHOICES[config.choice](scores, graph, query, config.anchors)


def by_question_and_missing(
    graph: Any, query: Query, config: PathfindingConfig
) -> tuple[Floats, list[int]]:
    """The higher score against the question or a missing fact; anchors chosen by either."""
    scores, anchors = by_question(graph, query, config)
    if not query.missing:
        return scores, anchors
    found = [anchor_scores(graph, fact, config.entity_boost) for fact in query.missing]
    wanted = np.max(found, axis=0)
    names = frozenset().union(*(fact.entities for fact in query.missing))
    more = CHOICES[config.choice](wanted, graph, replace(query, entities=names), config.anchors)
    return np.maximum(scores, wanted), list(dict.fromkeys([*anchors, *more]))


FOCUS: dict[str, Focus] = {
    "question": by_question,
    "question_and_missing": by_question_and_missing,
}


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
