"""Second implementations: igraph (PRPACK), a scipy power iteration, a dense solve in float64."""

import igraph
import numpy as np
import pytest
import scipy.sparse as sp
import torch

from rag_research.graph.pagerank import personalized_pagerank
from rag_research.graph.transition import Transition


def _edges(kind: str, seed: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Directed edges [2, E], weights, N. "symmetric" lists both directions of each."""
    rng = np.random.default_rng(seed)
    size = 300
    edges = rng.integers(0, size, (2, 1200))
    edges = edges[:, edges[0] % 7 != 3] if kind == "dangling" else edges
    edges = np.unique(edges[:, edges[0] != edges[1]], axis=1)
    if kind == "loops":
        edges = np.concatenate([edges, np.tile(np.arange(0, size, 5), (2, 1))], axis=1)
    weights = rng.uniform(0.05, 1.0, edges.shape[1])
    if kind == "symmetric":
        edges, weights = np.concatenate([edges, edges[::-1]], axis=1), np.tile(weights, 2)
    return edges, weights, size


def _seeds(size: int, columns: int) -> np.ndarray:
    rng = np.random.default_rng(9)
    seeds = np.zeros((size, columns))
    for column in range(columns):
        seeds[rng.choice(size, 3, replace=False), column] = rng.uniform(0.1, 1, 3)
    return seeds / seeds.sum(axis=0)


KINDS = pytest.mark.parametrize("kind", ["directed", "symmetric", "dangling", "loops"])
RESTARTS = pytest.mark.parametrize("restart", [0.5, 0.15])


@KINDS
@RESTARTS
@pytest.mark.parametrize("columns", [1, 20])
def test_against_igraph(kind: str, restart: float, columns: int) -> None:
    edges, weights, size = _edges(kind, 0)
    seeds = _seeds(size, columns)
    peer = igraph.Graph(n=size, edges=edges.T.tolist(), directed=True)
    transition = Transition.from_edges(edges, weights, size)
    assert transition.symmetric == (kind == "symmetric")
    energy = personalized_pagerank(transition, torch.from_numpy(seeds), restart).double().numpy()
    for column in range(columns):
        expected = peer.personalized_pagerank(
            damping=1 - restart, reset=seeds[:, column].tolist(), weights=weights.tolist()
        )
        assert np.abs(energy[:, column] - expected).sum() < 1.5e-6  # tolerance and rounding


@KINDS
@RESTARTS
@pytest.mark.parametrize("tol", [1e-4, 1e-8])
def test_the_tolerance_bounds_the_error_against_a_dense_solve(
    kind: str, restart: float, tol: float
) -> None:
    edges, weights, size = _edges(kind, 1)
    seeds = _seeds(size, 20)
    dense = np.zeros((size, size))
    np.add.at(dense, (edges[0], edges[1]), weights)
    total = dense.sum(axis=1, keepdims=True)
    rows = dense / np.where(total > 0, total, 1)
    transition = Transition.from_edges(edges, weights, size, dtype=torch.float64)
    energy = personalized_pagerank(transition, torch.from_numpy(seeds), restart, tol).numpy()
    for column in range(seeds.shape[1]):
        # Here the dangling rows are filled in, as the definition says.
        filled = rows + (total == 0) * seeds[:, column]
        exact = np.linalg.solve(np.eye(size) - (1 - restart) * filled.T, restart * seeds[:, column])
        assert np.abs(energy[:, column] - exact).sum() <= tol


@KINDS
def test_against_a_scipy_power_iteration(kind: str) -> None:
    edges, weights, size = _edges(kind, 2)
    seeds = _seeds(size, 20)
    matrix = sp.csr_array((weights, (edges[0], edges[1])), shape=(size, size))
    total = matrix.sum(axis=1)
    walk = sp.csr_array(sp.diags_array(1 / np.where(total > 0, total, 1)) @ matrix)
    expected = seeds
    for _ in range(150):
        lost = expected[total == 0].sum(axis=0)
        expected = 0.15 * seeds + 0.85 * (walk.T @ expected + lost * seeds)
    transition = Transition.from_scipy(matrix, dtype=torch.float64)
    for method in ("auto", "power"):
        energy = personalized_pagerank(
            transition,
            torch.from_numpy(seeds),
            0.15,
            1e-9,
            method=method,  # type: ignore[arg-type]
        )
        assert np.abs(energy.numpy() - expected).sum(axis=0).max() < 2e-9
