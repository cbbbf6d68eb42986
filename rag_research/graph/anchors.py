"""Where the energy enters: scores of spans against the question, and the choice of anchors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rag_research.graph.candidates import Query
from rag_research.graph.lexical_join import Floats

Choose = Callable[[Floats, Any, Query, int], list[int]]
Charge = Callable[[Floats, Sequence[int]], Floats]

_DECIMALS = 9


def anchor_scores(graph: Any, query: Query, boost: float) -> Floats:
    r""":math:`\cos(q, v) + \lambda |E_q \cap E_v| / \max(1, |E_q|)` for each node.

    Args:
        graph: as :meth:`Topology.data` gives it.
        query: q and its entities.
        boost: lambda.

    Shapes:
        -> [N]
    """
    if not graph.nodes:
        return np.zeros(0)
    vectors = graph.x.numpy().astype(np.float64)
    cosine = (vectors * query.vector.astype(np.float64)).sum(axis=1)
    shared = np.array([len(query.entities & node.entities) for node in graph.nodes], np.float64)
    scores: Floats = np.round(cosine + boost * shared / max(1, len(query.entities)), _DECIMALS)
    return scores


def best(scores: Floats, graph: Any, query: Query, count: int) -> list[int]:
    """The ``count`` nodes of highest score; ties in graph order."""
    order = sorted(range(len(scores)), key=lambda n: (-scores[n], n))
    return order[:count]


def entity_quota(scores: Floats, graph: Any, query: Query, count: int) -> list[int]:
    """The best node of each question entity, entities in turn, then the best of the rest."""
    order = best(scores, graph, query, len(scores))
    chosen: dict[int, None] = {}
    for entity in sorted(query.entities):
        chosen.update(dict.fromkeys([n for n in order if entity in graph.nodes[n].entities][:1]))
    first = sorted(chosen, key=order.index)[:count]
    rest = [n for n in order if n not in chosen]
    return [*first, *rest[: count - len(first)]]


def positive(scores: Floats, anchors: Sequence[int]) -> Floats:
    """Positive anchor scores, scaled to sum 1; equal shares when none is positive."""
    seeds = np.zeros(len(scores))
    if len(anchors):
        seeds[anchors] = np.maximum(scores[anchors], 0.0)
        if not seeds.any():
            seeds[anchors] = 1.0
        seeds /= seeds.sum()
    return seeds


def softmax(scores: Floats, anchors: Sequence[int]) -> Floats:
    """The softmax of the anchor scores."""
    seeds = np.zeros(len(scores))
    if len(anchors):
        seeds[anchors] = np.exp(scores[anchors] - scores[anchors].max())
        seeds /= seeds.sum()
    return seeds


CHOICES: dict[str, Choose] = {"best": best, "entity_quota": entity_quota}
CHARGES: dict[str, Charge] = {"positive": positive, "softmax": softmax}
