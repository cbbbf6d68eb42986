"""How energy spreads from the anchors over a query-time graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_research.graph.lexical_join import Floats

Diffuse = Callable[[Any, Floats, float], Floats]

_TOLERANCE = 1e-9
_DECIMALS = 9  # energies are compared with thresholds: the last bits must not decide


def ppr(graph: Any, seeds: Floats, restart: float) -> Floats:
    r"""Personalized PageRank: :math:`e = \alpha s + (1 - \alpha) P^\top e`.

    Args:
        graph: as :meth:`Topology.data` gives it, N nodes.
        seeds: s, [N].
        restart: alpha.
    """
    import torch

    from rag_research.graph.pagerank import personalized_pagerank

    if not seeds.any():
        return seeds
    start = torch.from_numpy(seeds)
    energy = personalized_pagerank(_transition(graph), start, restart, _TOLERANCE).numpy()
    return _rounded(energy)


def push(graph: Any, seeds: Floats, restart: float) -> Floats:
    """The same by forward push: lower bounds of the energies, exact to about 1e-5 a node."""
    from rag_research.graph.push import ForwardPush

    anchors = np.flatnonzero(seeds)
    energy = np.zeros(len(seeds))
    if len(anchors):
        found = ForwardPush(_transition(graph)).top(
            anchors, seeds[anchors], len(seeds), restart, epsilon=1e-6
        )
        energy[found.nodes] = found.energy
    return _rounded(energy)


def exact(graph: Any, seeds: Floats, restart: float) -> Floats:
    """The same by solving the linear system; cubic in N, an oracle for small graphs."""
    size = len(seeds)
    walk = _walk(graph, size)
    dangling = walk.sum(axis=1) == 0
    walk[dangling] = seeds
    energy = np.linalg.solve(np.eye(size) - (1 - restart) * walk.T, restart * seeds)
    return _rounded(energy)


def one_hop(graph: Any, seeds: Floats, restart: float) -> Floats:
    r"""A single step: :math:`e = \alpha s + (1 - \alpha) P^\top s`."""
    walk = _walk(graph, len(seeds))
    walk[walk.sum(axis=1) == 0] = seeds
    return _rounded(restart * seeds + (1 - restart) * walk.T @ seeds)


def none(graph: Any, seeds: Floats, restart: float) -> Floats:
    """The null object: energy stays on the anchors."""
    return _rounded(seeds)


DIFFUSIONS: dict[str, Diffuse] = {
    "ppr": ppr,
    "push": push,
    "exact": exact,
    "one_hop": one_hop,
    "none": none,
}


def _transition(graph: Any) -> Any:
    import torch

    from rag_research.graph.transition import Transition

    return Transition.from_edges(
        graph.edge_index, graph.edge_weight, len(graph.nodes), dtype=torch.float64
    )


def _walk(graph: Any, size: int) -> Floats:
    """Row-normalised weights, dense, [N, N]; rows of nodes without edges are zero."""
    walk = np.zeros((size, size))
    source, target = graph.edge_index.numpy()
    walk[source, target] = graph.edge_weight.numpy()
    degree = walk.sum(axis=1, keepdims=True)
    return walk / np.where(degree > 0, degree, 1.0)


def _rounded(energy: NDArray[np.floating[Any]]) -> Floats:
    rounded: Floats = np.round(energy, _DECIMALS)
    return rounded
