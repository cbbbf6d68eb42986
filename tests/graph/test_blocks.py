import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_research.errors import DataError
from rag_research.graph.blocks import Blocks, EdgeList
from rag_research.graph.pagerank import personalized_pagerank
from rag_research.graph.transition import Transition


def _graphs(sizes: list[int], seed: int) -> tuple[list[EdgeList], list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    graphs, seeds = [], []
    for size in sizes:
        edges = rng.integers(0, size, (2, 3 * size if size % 4 else 0))
        graphs.append(EdgeList(edges, rng.uniform(0.1, 1, edges.shape[1]), size))
        seeds.append(rng.random(size) * (size % 3 > 0))  # some have no seeds at all
    return graphs, seeds


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.integers(1, 20), min_size=1, max_size=8),
    st.booleans(),
    st.sampled_from([0.5, 0.15]),
    st.integers(0, 99),
)
def test_a_batch_equals_its_graphs_one_by_one(
    sizes: list[int], undirected: bool, restart: float, seed: int
) -> None:
    graphs, seeds = _graphs(sizes, seed)
    blocks = Blocks.from_edge_lists(graphs, undirected=undirected, dtype=torch.float64)
    results = blocks.pagerank(seeds, restart, 1e-10)
    for graph, given_seeds, result in zip(graphs, seeds, results, strict=True):
        alone = Transition.from_edges(*graph, undirected=undirected, dtype=torch.float64)
        expected = personalized_pagerank(alone, torch.from_numpy(given_seeds), restart, 1e-10)
        mass = given_seeds.sum()
        torch.testing.assert_close(result, expected, atol=2e-10 * max(1.0, mass), rtol=0)
        assert float(result.sum()) == pytest.approx(mass)


def test_single_precision_keeps_the_tolerance_in_every_graph() -> None:
    graphs, seeds = _graphs([50, 99, 200, 499] * 8, 0)
    seeds = [seed / max(seed.sum(), 1.0) for seed in seeds]
    single = Blocks.from_edge_lists(graphs, undirected=True).pagerank(seeds)
    double = Blocks.from_edge_lists(graphs, undirected=True, dtype=torch.float64)
    for result, exact in zip(single, double.pagerank(seeds, 0.5, 1e-12), strict=True):
        assert float((result.double() - exact).abs().sum()) <= 1e-6


def test_building_without_the_inner_kernels_of_scipy_is_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graphs, seeds = _graphs([7, 12, 9], 3)
    expected = Blocks.from_edge_lists(graphs, undirected=True).pagerank(seeds)
    monkeypatch.setattr("rag_research.graph.blocks.coo_tocsr", None)
    monkeypatch.setattr("rag_research.graph.blocks.csr_scale_columns", None)
    found = Blocks.from_edge_lists(graphs, undirected=True).pagerank(seeds)
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


def test_graphs_without_nodes_among_others_change_nothing() -> None:
    graphs, seeds = _graphs([7, 0, 11, 0], 1)
    results = Blocks.from_edge_lists(graphs, undirected=True).pagerank(seeds)
    alone = Blocks.from_edge_lists([graphs[0], graphs[2]], undirected=True)
    expected = alone.pagerank([seeds[0], seeds[2]])
    assert [len(result) for result in results] == [7, 0, 11, 0]
    assert torch.equal(results[0], expected[0])
    assert torch.equal(results[2], expected[1])


def test_several_columns_a_graph() -> None:
    pair = EdgeList(torch.tensor([[0], [1]]), None, 2)
    seeds = torch.eye(2)
    results = Blocks.from_edge_lists([pair, pair], undirected=True).pagerank([seeds, seeds])
    expected = torch.tensor([[2 / 3, 1 / 3], [1 / 3, 2 / 3]])
    for result in results:
        torch.testing.assert_close(result, expected, atol=2e-6, rtol=0)


def test_no_graphs_and_graphs_without_nodes() -> None:
    assert Blocks.from_edge_lists([]).pagerank([]) == []
    nothing = EdgeList(np.zeros((2, 0), np.int64), None, 0)
    pair = EdgeList(np.array([[0], [1]]), None, 2)
    for order in ([nothing, pair], [pair, nothing], [nothing]):
        sizes = [graph.num_nodes for graph in order]
        results = Blocks.from_edge_lists(order).pagerank([torch.ones(size) for size in sizes])
        assert [len(result) for result in results] == sizes


@pytest.mark.parametrize("undirected", [True, False])
@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (EdgeList([0, 1], None, 2), r"graphs\[1\]"),
        (
            EdgeList([[0], [2]], None, 2),
            r"graphs\[1\].edge_index: got indices 0 to 2|got indices 2",
        ),
        (EdgeList([[-1], [0]], None, 2), r"graphs\[1\].edge_index: got indices -1"),
        (EdgeList([[0], [2**32]], None, 2), r"graphs\[1\].edge_index: got indices 0 to 4294967296"),
        (EdgeList([[0], [1]], [1.0, 2.0], 2), r"graphs\[1\].edge_weight: .* one an edge"),
        (EdgeList([[0], [1]], [-1.0], 2), "negative"),
        (EdgeList([[0], [1]], [float("nan")], 2), "non-finite"),
    ],
)
def test_unusable_graphs_are_named(graph: EdgeList, message: str, undirected: bool) -> None:
    good = EdgeList([[0], [1]], None, 2)
    with pytest.raises(DataError, match=message):
        Blocks.from_edge_lists([good, graph], undirected=undirected)


def test_a_batch_without_any_edge_gives_the_seeds() -> None:
    alone = EdgeList(np.zeros((2, 0), np.int64), None, 2)
    for undirected in (True, False):
        blocks = Blocks.from_edge_lists([alone, alone], undirected=undirected)
        for result in blocks.pagerank([torch.tensor([0.25, 0.75])] * 2):
            assert result.tolist() == [0.25, 0.75]


def test_seeds_must_fit_the_graphs() -> None:
    blocks = Blocks.from_edge_lists([EdgeList([[0], [1]], None, 2)])
    with pytest.raises(DataError, match="expected 1, one a graph"):
        blocks.pagerank([])
    with pytest.raises(DataError, match=r"seeds\[0\]: got 3 rows, expected 2"):
        blocks.pagerank([torch.ones(3)])


@pytest.mark.parametrize("restart", [0.5, 0.15])
def test_graphs_that_mix_slower_than_expected_reach_the_tolerance(restart: float) -> None:
    """Long even rings: eigenvalues close to 1 and -1, far outside the radius taken for blocks."""
    nodes = np.arange(60)
    ring = EdgeList(np.stack([nodes, (nodes + 1) % 60]), None, 60)
    seeds = np.eye(60)[7]
    found = Blocks.from_edge_lists([ring] * 3, undirected=True, dtype=torch.float64)
    walk = (np.roll(np.eye(60), 1, axis=0) + np.roll(np.eye(60), -1, axis=0)) / 2
    exact = restart * np.linalg.solve(np.eye(60) - (1 - restart) * walk, seeds)
    for tol in (1e-6, 1e-10):
        for energy in found.pagerank([seeds] * 3, restart, tol):
            assert np.abs(energy.numpy() - exact).sum() <= tol


def test_a_batch_moves_with_its_transition() -> None:
    pair = EdgeList([[0], [1]], None, 2)
    blocks = Blocks.from_edge_lists([pair, EdgeList(np.zeros((2, 0), int), None, 1)])
    assert Blocks(blocks.transition.to("cpu"), blocks.sizes).block.tolist() == [0, 0, 1]
