import numpy as np
import pytest
import scipy.sparse as sp
import torch

from rag_research.errors import DataError
from rag_research.graph.transition import Transition

# 0 -> 1 (weight 1), 0 -> 2 (weight 3), 1 -> 0 (weight 2); node 2 has no outgoing edge.
EDGES = torch.tensor([[0, 0, 1], [1, 2, 0]])
WEIGHTS = torch.tensor([1.0, 3.0, 2.0])
BY_HAND = torch.tensor([[0.0, 0.25, 0.75], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])


def _random_symmetric(n: int, seed: int) -> sp.csr_array:
    rng = np.random.default_rng(seed)
    upper = sp.random_array((n, n), density=0.1, rng=rng, data_sampler=rng.random)
    return sp.csr_array(upper + upper.T)


def test_rows_are_normalised_and_transposed() -> None:
    transition = Transition.from_edges(EDGES, WEIGHTS, 3)
    torch.testing.assert_close(transition.matrix.to_dense(), BY_HAND.T)
    assert transition.matrix.layout == torch.sparse_csr
    assert transition.matrix.col_indices().dtype == torch.int32
    assert transition.degree.tolist() == [4.0, 2.0, 0.0]
    assert transition.dangling
    assert not transition.symmetric


def test_every_source_gives_the_same_matrix() -> None:
    dense = torch.zeros(3, 3).index_put_((EDGES[0], EDGES[1]), WEIGHTS)
    matrix = sp.csr_array(dense.numpy())
    sources = [
        Transition.from_edges(EDGES.numpy(), WEIGHTS.tolist(), 3),
        Transition.from_sparse(dense),
        Transition.from_sparse(dense.to_sparse_csr()),
        Transition.from_sparse(dense.to_sparse_coo()),
        Transition.from_scipy(matrix),
        Transition.from_csr(matrix.indptr, matrix.indices, matrix.data),
    ]
    for source in sources:
        torch.testing.assert_close(source.matrix.to_dense(), BY_HAND.T)


def test_parallel_edges_add_up_and_weights_default_to_one() -> None:
    twice = Transition.from_edges([[0, 0, 0], [1, 1, 2]])
    torch.testing.assert_close(twice.matrix.to_dense()[:, 0], torch.tensor([0.0, 2 / 3, 1 / 3]))


def test_undirected_lists_each_edge_once_and_a_self_loop_counts_once() -> None:
    transition = Transition.from_edges([[0, 1, 1], [1, 1, 2]], [1.0, 2.0, 1.0], undirected=True)
    assert transition.symmetric
    assert transition.degree.tolist() == [1.0, 4.0, 1.0]
    torch.testing.assert_close(transition.matrix.to_dense()[:, 1], torch.tensor([0.25, 0.5, 0.25]))


def test_symmetry_is_found_in_directed_lists() -> None:
    assert Transition.from_edges([[0, 1], [1, 0]], [0.3, 0.3]).symmetric
    assert not Transition.from_edges([[0, 1], [1, 0]], [0.3, 0.4]).symmetric


def test_precision_can_be_chosen_and_changed() -> None:
    double = Transition.from_edges(EDGES, WEIGHTS, 3, dtype=torch.float64)
    assert double.dtype == torch.float64
    assert double.to(dtype=torch.float32).dtype == torch.float32
    assert double.to("cpu").num_nodes == 3


def test_spread_is_the_root_of_volume_over_smallest_degree() -> None:
    assert Transition.from_edges(EDGES, WEIGHTS, 3).spread == pytest.approx((6 / 2) ** 0.5)
    assert Transition.from_edges(torch.zeros(2, 0), None, 4).spread == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_second_eigenvalue_against_a_full_decomposition(seed: int) -> None:
    weights = _random_symmetric(120, seed)
    transition = Transition.from_scipy(weights)
    degree = weights.sum(axis=1)
    root = np.sqrt(np.where(degree > 0, degree, 1))
    values = np.sort(np.abs(np.linalg.eigvalsh(weights.toarray() / np.outer(root, root))))
    estimate = transition.second_eigenvalue
    assert values[-2] * 0.9 < estimate < values[-2] + 1e-4


def test_second_eigenvalue_of_graphs_known_by_hand() -> None:
    complete = Transition.from_sparse(torch.ones(5, 5) - torch.eye(5), dtype=torch.float64)
    assert complete.second_eigenvalue == pytest.approx(1 / 4, abs=1e-6)
    two_parts = Transition.from_edges([[0, 2], [1, 3]], undirected=True)
    assert two_parts.second_eigenvalue == pytest.approx(1.0, abs=1e-4)
    assert Transition.from_edges(torch.zeros(2, 0), None, 3).second_eigenvalue == 0.0


@pytest.mark.parametrize(
    ("edges", "weights", "size", "message"),
    [
        ([0, 1], None, 2, r"expected \[2, E\]"),
        ([[0], [2]], None, 2, "indices 0 to 2, expected 0 to 1"),
        ([[-1], [1]], None, 2, "indices -1 to 1"),
        ([[0], [1]], [-1.0], 2, "expected finite, >= 0"),
        ([[0], [1]], [float("nan")], 2, "expected finite, >= 0"),
        ([[0], [1]], [float("inf")], 2, "expected finite, >= 0"),
        ([[0], [1]], [1.0, 2.0], 2, r"expected \[1\]"),
    ],
)
def test_unusable_edges_are_refused_with_words(
    edges: list[object], weights: list[float] | None, size: int, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        Transition.from_edges(edges, weights, size)


def test_a_matrix_must_be_square() -> None:
    with pytest.raises(DataError, match=r"expected \[N, N\]"):
        Transition.from_sparse(torch.ones(2, 3))
    with pytest.raises(DataError, match=r"expected \[N, N\]"):
        Transition.from_scipy(sp.csr_array(np.ones((2, 3))))
