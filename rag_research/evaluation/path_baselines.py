"""What the learned path selector has to beat: rankings of the same candidate graph.

Each baseline gives the candidates of one question a score, higher is better; a candidate that is
not returned has the score NaN. Nothing here is learned; what is set was set by reasoning, or on
training questions.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from rag_research.graph.pagerank import personalized_pagerank
from rag_research.graph.path_edges import EDGE_FEATURES
from rag_research.graph.path_features import NODE_FEATURES, PathGraph
from rag_research.graph.transition import Transition
from rag_research.graph.unrolled import unrolled_pagerank

Floats = NDArray[np.float32]

RESTART = 0.5
LEAST_ENERGY = 0.01
LINK_BONUS = 10.0
FLOW_TEMPERATURE = 0.05
FLOW_SHARE = 2.0

_NODE = {name: n for n, name in enumerate(n for own in NODE_FEATURES.values() for n in own)}
_EDGE = {name: n for n, name in enumerate(n for own in EDGE_FEATURES.values() for n in own)}


def node_feature(path: PathGraph, name: str) -> Floats:
    """A feature of :data:`NODE_FEATURES` of each candidate. [N]"""
    return path.nodes[:, _NODE[name]]


def edge_feature(path: PathGraph, name: str) -> Floats:
    """A feature of :data:`EDGE_FEATURES` of each edge. [E]"""
    return path.edges.features[:, _EDGE[name]]


def edp_energy(path: PathGraph) -> Floats:
    """Energy of the paper's pathfinding: published anchors, edge weights and restart."""
    return _walk(path, path.prior)


def edp_threshold(path: PathGraph) -> Floats:
    """:func:`edp_energy` with the paper's pruning: below 0.01 only anchors are returned."""
    energy = edp_energy(path)
    return np.where((energy >= LEAST_ENERGY) | (path.prior > 0), energy, np.nan)


def fused_pagerank(path: PathGraph) -> Floats:
    """The same walk, from every candidate in proportion to its fused search score."""
    fused = np.maximum(node_feature(path, "fused"), 0)
    return _walk(path, fused if fused.any() else np.ones_like(fused))


def idf_flow(path: PathGraph) -> Floats:
    r"""A training-free flow that follows rare names.

    .. math:: w_{ij} = (\max_{\text{shared } n} \mathrm{idf}(n) + 10\,[i \text{ names } j
        \text{ or } j \text{ names } i])^2, \qquad s = f + 2 e / \max e

    with names of the question left out, `f` the fused search score, and `e` the energy after one
    step from :math:`\mathrm{softmax}(f / 0.05)`. The numbers were chosen on training questions.
    """
    fused = node_feature(path, "fused")
    links = np.maximum(
        edge_feature(path, "new_names_target"), edge_feature(path, "new_named_by_target")
    )
    weight = np.maximum(edge_feature(path, "shared_idf") + LINK_BONUS * links, 0.0) ** 2
    seeds = np.exp((fused - fused.max()) / FLOW_TEMPERATURE)
    energy = unrolled_pagerank(
        torch.from_numpy(np.stack([path.edges.source, path.edges.target])),
        torch.from_numpy(weight),
        torch.from_numpy(seeds / seeds.sum()).unsqueeze(1),
        RESTART,
        steps=1,
    )
    flow: Floats = energy.squeeze(1).numpy()
    return fused + FLOW_SHARE * flow / flow.max()


def oracle(path: PathGraph, gold: NDArray[np.bool_]) -> Floats:
    """Gold candidates and nothing else: what a perfect ranking of the candidates gets.

    Args:
        path: the candidates.
        gold: which of them are gold. [N]
    """
    return np.where(gold, 1.0, np.nan).astype(np.float32)


def shuffled(path: PathGraph, question: str) -> Floats:
    """Any order: the floor. The same question is always shuffled alike."""
    draw = random.Random(question)
    return np.array([draw.random() for _ in path.rows], np.float32)


BASELINES: Mapping[str, Callable[[PathGraph], Floats]] = {
    "edp_threshold": edp_threshold,
    "edp_energy": edp_energy,
    "fused_pagerank": fused_pagerank,
    "idf_flow": idf_flow,
}


def _walk(path: PathGraph, seeds: Floats) -> Floats:
    edges = path.edges
    live = edges.weight > 0
    transition = Transition.from_edges(
        np.stack([edges.source[live], edges.target[live]]), edges.weight[live], len(path.rows)
    )
    total = max(float(seeds.sum()), 1e-9)
    energy: Floats = personalized_pagerank(
        transition, torch.from_numpy(seeds / total), RESTART
    ).numpy()
    return energy
