"""Baselines of path selection on a graph small enough to work out by hand.

    v0 -- v1 -- v2      v3 (alone)

The walk from v0 with restart 1/2 has the energies 7/12, 4/12, 1/12, 0.
"""

import numpy as np
import pytest

from rag_research.evaluation.path_baselines import (
    edge_feature,
    edp_energy,
    edp_threshold,
    fused_pagerank,
    idf_flow,
    node_feature,
    oracle,
    shuffled,
)
from rag_research.graph.path_edges import EDGE_FEATURES, Edges
from rag_research.graph.path_features import NODE_FEATURES, PathGraph

NODES = [name for group in NODE_FEATURES.values() for name in group]
EDGES = [name for group in EDGE_FEATURES.values() for name in group]


def graph(
    pairs: list[tuple[int, int]],
    fused: list[float],
    prior: list[float],
    weight: float = 1.0,
    **columns: list[float],
) -> PathGraph:
    """Each pair is an edge in both directions, with the same value of each feature."""
    both = sorted([(a, b, n) for n, (a, b) in enumerate(pairs)]
                  + [(b, a, n) for n, (a, b) in enumerate(pairs)])  # fmt: skip
    source, target, pair = np.array(both, np.int64).reshape(-1, 3).T
    features = np.zeros((len(both), len(EDGES)), np.float32)
    for name, values in columns.items():
        features[:, EDGES.index(name)] = np.array(values, np.float32)[pair]
    nodes = np.zeros((len(fused), len(NODES)), np.float32)
    nodes[:, NODES.index("fused")] = fused
    none = np.empty(0, np.int64)
    edges = Edges(source, target, features, np.full(len(both), weight, np.float32), np.empty(0))
    return PathGraph(
        np.arange(len(fused)), nodes, edges, np.array(prior, np.float32), np.empty((0, 8)), none,
        none,
    )  # fmt: skip


CHAIN = graph([(0, 1), (1, 2)], [1.0, 0, 0, 0], [1.0, 0, 0, 0])


def test_the_published_walk_and_its_threshold() -> None:
    expected = [7 / 12, 4 / 12, 1 / 12, 0]
    assert edp_energy(CHAIN) == pytest.approx(expected, abs=1e-5)
    pruned = edp_threshold(CHAIN)
    assert pruned[:3] == pytest.approx(expected[:3], abs=1e-5)
    assert np.isnan(pruned[3])


def test_an_anchor_below_the_threshold_is_kept() -> None:
    scores = edp_threshold(graph([(0, 1)], [0, 0, 0, 0], [0.495, 0.5, 0.005, 0]))
    assert np.isnan(scores).tolist() == [False, False, False, True]


def test_fused_scores_are_the_seeds() -> None:
    assert fused_pagerank(CHAIN) == pytest.approx([7 / 12, 4 / 12, 1 / 12, 0], abs=1e-5)
    alone = graph([], [3.0, 1.0], [1.0, 0])
    assert fused_pagerank(alone) == pytest.approx([0.75, 0.25])
    assert fused_pagerank(graph([], [0.0, 0.0], [1.0, 0])) == pytest.approx([0.5, 0.5])


def test_the_flow_follows_rare_names_and_links() -> None:
    """From v0, half of the energy stays; the rest is split as squared weights, 1 : 9."""
    rare = graph([(0, 1), (0, 2)], [1.0, 0, 0], [1.0, 0, 0], shared_idf=[2.0, 6.0])
    assert idf_flow(rare) == pytest.approx([3.0, 2 * 0.1, 2 * 0.9], abs=1e-5)
    linked = graph(
        [(0, 1), (0, 2)], [1.0, 0, 0], [1.0, 0, 0], shared_idf=[2.0, 12.0],
        new_named_by_target=[1.0, 0],
    )  # fmt: skip
    assert idf_flow(linked) == pytest.approx([3.0, 1.0, 1.0], abs=1e-5)


def test_oracle_and_chance() -> None:
    scores = oracle(CHAIN, np.array([False, True, False, False]))
    assert np.isnan(scores).tolist() == [True, False, True, True]
    assert shuffled(CHAIN, "q").tolist() == shuffled(CHAIN, "q").tolist()
    assert shuffled(CHAIN, "q").tolist() != shuffled(CHAIN, "p").tolist()


def test_features_are_found_by_name() -> None:
    one = graph([(0, 1)], [0.25, 0.5], [1.0, 0], cosine=[0.75])
    assert node_feature(one, "fused").tolist() == [0.25, 0.5]
    assert edge_feature(one, "cosine").tolist() == [0.75, 0.75]
