import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from rag_research.errors import ConfigError, DataError
from rag_research.graph.pagerank import personalized_pagerank
from rag_research.graph.transition import Transition


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Tensor, Tensor, int, bool]:
    """Edge list, weights, size, undirected; with self-loops, repeats and isolated nodes."""
    size = draw(st.integers(1, 12))
    ends = st.integers(0, size - 1)
    pairs = draw(st.lists(st.tuples(ends, ends), max_size=30))
    weights = draw(st.lists(st.floats(0.1, 10), min_size=len(pairs), max_size=len(pairs)))
    edges = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T
    return edges, torch.tensor(weights, dtype=torch.float64), size, draw(st.booleans())


def _prepared(graph: tuple[Tensor, Tensor, int, bool]) -> Transition:
    edges, weights, size, undirected = graph
    return Transition.from_edges(edges, weights, size, undirected=undirected, dtype=torch.float64)


def _seeds(size: int, columns: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(size, columns, generator=generator, dtype=torch.float64)


def test_two_nodes_by_hand() -> None:
    # a = 1/2 + 1/2 b, b = 1/2 a  ->  a = 2/3, b = 1/3
    pair = Transition.from_edges([[0], [1]], undirected=True)
    energy = personalized_pagerank(pair, torch.tensor([1.0, 0.0]))
    torch.testing.assert_close(energy, torch.tensor([2 / 3, 1 / 3]), atol=2e-6, rtol=0)


def test_dangling_mass_returns_to_the_seeds_by_hand() -> None:
    # 0 -> 1 and nothing out of 1: a = 1/2 + 1/2 b, b = 1/2 a, as if 1 led back to the seed.
    arrow = Transition.from_edges([[0], [1]])
    energy = personalized_pagerank(arrow, torch.tensor([1.0, 0.0]))
    torch.testing.assert_close(energy, torch.tensor([2 / 3, 1 / 3]), atol=2e-6, rtol=0)


def test_one_step_of_the_formula_leaves_the_result_unchanged() -> None:
    weights = torch.rand(30, 30, generator=torch.Generator().manual_seed(0)).double()
    seeds = _seeds(30, 4, 1)
    energy = personalized_pagerank(
        Transition.from_sparse(weights, dtype=torch.float64), seeds, 0.3, 1e-12
    )
    rows = weights / weights.sum(1, keepdim=True)
    torch.testing.assert_close(0.3 * seeds + 0.7 * rows.T @ energy, energy, atol=1e-10, rtol=0)


@settings(deadline=None, max_examples=60)
@given(graphs(), st.floats(0.05, 1.0), st.sampled_from(["auto", "power"]), st.integers(0, 99))
def test_mass_is_conserved_and_nothing_is_negative(
    graph: tuple[Tensor, Tensor, int, bool], restart: float, method: str, seed: int
) -> None:
    seeds = _seeds(graph[2], 3, seed)
    energy = personalized_pagerank(_prepared(graph), seeds, restart, method=method)  # type: ignore[arg-type]
    torch.testing.assert_close(energy.sum(0), seeds.sum(0))
    assert bool((energy >= 0).all())


@settings(deadline=None, max_examples=60)
@given(graphs(), st.integers(0, 99))
def test_renaming_the_nodes_renames_the_result(
    graph: tuple[Tensor, Tensor, int, bool], seed: int
) -> None:
    edges, weights, size, undirected = graph
    seeds = _seeds(size, 2, seed)
    renamed = torch.randperm(size, generator=torch.Generator().manual_seed(seed))
    moved = torch.empty_like(seeds)
    moved[renamed] = seeds
    there = personalized_pagerank(
        _prepared((renamed[edges], weights, size, undirected)), moved, tol=1e-12
    )
    here = personalized_pagerank(_prepared(graph), seeds, tol=1e-12)
    torch.testing.assert_close(there[renamed], here, atol=1e-10, rtol=0)


@settings(deadline=None, max_examples=60)
@given(graphs(), st.floats(0, 5), st.floats(0, 5), st.integers(0, 99))
def test_linear_in_the_seeds_without_dangling_nodes(
    graph: tuple[Tensor, Tensor, int, bool], a: float, b: float, seed: int
) -> None:
    edges, weights, size, undirected = graph
    loops = torch.arange(size).repeat(2, 1)  # a self-loop each: no node dangles
    closed = (torch.cat([edges, loops], 1), torch.cat([weights, torch.ones(size)]))
    transition = _prepared((*closed, size, undirected))
    seeds = _seeds(size, 2, seed)
    both = personalized_pagerank(transition, seeds, 0.2, 1e-12)
    mixed = personalized_pagerank(transition, a * seeds[:, 0] + b * seeds[:, 1], 0.2, 1e-12)
    torch.testing.assert_close(mixed, a * both[:, 0] + b * both[:, 1], atol=1e-9, rtol=0)


@settings(deadline=None, max_examples=40)
@given(graphs(), st.integers(1, 5), st.integers(0, 99))
def test_tiles_do_not_change_the_result(
    graph: tuple[Tensor, Tensor, int, bool], tile: int, seed: int
) -> None:
    transition = _prepared(graph)
    seeds = _seeds(graph[2], 7, seed)
    whole = personalized_pagerank(transition, seeds, tol=1e-12)
    tiled = personalized_pagerank(transition, seeds, tol=1e-12, tile=tile)
    torch.testing.assert_close(tiled, whole, atol=1e-11, rtol=0)


def test_columns_with_and_without_seeds_side_by_side() -> None:
    path = Transition.from_edges([[0, 1], [1, 2]], undirected=True)
    seeds = torch.tensor([[1.0, 0.0, 5.0], [0.0, 0.0, 5.0], [0.0, 0.0, 0.0]])
    energy = personalized_pagerank(path, seeds)
    assert energy[:, 1].tolist() == [0.0, 0.0, 0.0]
    assert energy.sum(0).tolist() == pytest.approx([1.0, 0.0, 10.0])


def test_a_seed_on_an_isolated_node_keeps_its_energy() -> None:
    graph = Transition.from_edges([[0], [1]], None, 3, undirected=True)
    alone = personalized_pagerank(graph, torch.tensor([0.0, 0.0, 1.0]))
    assert alone.tolist() == [0.0, 0.0, 1.0]


def test_a_graph_without_edges_gives_the_seeds_back() -> None:
    graph = Transition.from_edges(torch.zeros(2, 0), None, 3)
    energy = personalized_pagerank(graph, torch.tensor([0.25, 0.0, 0.75]))
    torch.testing.assert_close(energy, torch.tensor([0.25, 0.0, 0.75]))


def test_no_nodes_and_no_columns() -> None:
    empty = Transition.from_edges(torch.zeros(2, 0), None, 0)
    assert personalized_pagerank(empty, torch.zeros(0, 4)).shape == (0, 4)
    assert personalized_pagerank(empty, torch.zeros(0)).shape == (0,)
    pair = Transition.from_edges([[0], [1]])
    assert personalized_pagerank(pair, torch.zeros(2, 0)).shape == (2, 0)


def test_a_self_loop_holds_energy_back() -> None:
    # a = 1/2 + 1/4 a + 1/2 b, b = 1/4 a  ->  a = 4/5, b = 1/5
    graph = Transition.from_edges([[0, 0, 1], [0, 1, 0]])
    energy = personalized_pagerank(graph, torch.tensor([1.0, 0.0]))
    torch.testing.assert_close(energy, torch.tensor([0.8, 0.2]), atol=2e-6, rtol=0)


def test_restart_one_stays_at_the_seeds() -> None:
    pair = Transition.from_edges([[0], [1]])
    seeds = torch.tensor([[0.3], [0.7]])
    energy = personalized_pagerank(pair, seeds, restart=1.0)
    assert torch.equal(energy, seeds)
    assert energy.data_ptr() != seeds.data_ptr()


def test_seeds_are_left_alone_and_results_follow_the_precision_of_the_graph() -> None:
    graph = Transition.from_edges([[0, 1], [1, 2]], undirected=True)
    seeds = torch.tensor([[1.0], [0.0], [0.0]], dtype=torch.float64)
    before = seeds.clone()
    assert personalized_pagerank(graph, seeds).dtype == torch.float32
    assert torch.equal(seeds, before)


def test_weights_can_be_given_unprepared() -> None:
    weights = torch.tensor([[0.0, 2.0], [2.0, 0.0]]).to_sparse_coo()
    energy = personalized_pagerank(weights, torch.tensor([1.0, 0.0]))
    torch.testing.assert_close(energy, torch.tensor([2 / 3, 1 / 3]), atol=2e-6, rtol=0)


def test_the_same_call_gives_the_same_bytes() -> None:
    generator = torch.Generator().manual_seed(3)
    edges = torch.randint(0, 200, (2, 1000), generator=generator)
    seeds = torch.rand(200, 40, generator=generator)
    first, second = (
        personalized_pagerank(Transition.from_edges(edges, None, 200, undirected=True), seeds)
        for _ in range(2)
    )
    assert first.numpy().tobytes() == second.numpy().tobytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"restart": 0.0}, "restart: got 0.0, expected a probability from 1e-06 to 1"),
        ({"restart": 1.5}, "restart: got 1.5"),
        ({"tol": 0.0}, "tol: got 0.0"),
        ({"tile": 0}, "tile: got 0"),
        ({"method": "exact"}, "method: got 'exact'"),
        ({"method": "chebyshev"}, "needs symmetric weights"),
    ],
)
def test_settings_out_of_range(arguments: dict[str, object], message: str) -> None:
    arrow = Transition.from_edges([[0], [1]])
    with pytest.raises(ConfigError, match=message):
        personalized_pagerank(arrow, torch.ones(2), **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("seeds", "message"),
    [
        (torch.ones(3), r"got shape \(3,\), expected \[2\]"),
        (torch.ones(2, 2, 2), r"got shape \(2, 2, 2\)"),
        (torch.tensor([1.0, -0.5]), "got values -0.5 to 1.0, expected finite"),
        (torch.tensor([1.0, float("nan")]), "got values nan"),
        (torch.tensor([1.0, float("inf")]), "got values 1.0 to inf"),
    ],
)
def test_unusable_seeds(seeds: Tensor, message: str) -> None:
    arrow = Transition.from_edges([[0], [1]])
    with pytest.raises(DataError, match=message):
        personalized_pagerank(arrow, seeds)


@pytest.mark.gpu
def test_cuda_gives_what_the_cpu_gives_without_waiting_inside_the_iteration() -> None:
    generator = torch.Generator().manual_seed(0)
    edges = torch.randint(0, 5000, (2, 40_000), generator=generator)
    seeds = torch.rand(5000, 64, generator=generator)
    seeds /= seeds.sum(0)
    for undirected in (False, True):
        here = Transition.from_edges(edges, None, 5000, undirected=undirected)
        there = here.to("cuda")
        expected = personalized_pagerank(here, seeds, 0.15)
        result = personalized_pagerank(there, seeds.cuda(), 0.15)
        assert result.device.type == "cuda"
        assert float((result.cpu() - expected).abs().sum(0).max()) < 2e-6


@pytest.mark.parametrize("restart", [0.5, 0.15])
@pytest.mark.parametrize("undirected", [True, False])
def test_the_number_of_steps_fixed_beforehand_reaches_the_tolerance(
    restart: float, undirected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an accelerator runs: no test of convergence, on a graph with slow mixing."""
    from rag_research.graph import pagerank

    ring = torch.arange(400)
    edges = torch.stack([ring, (ring + 1) % 400])
    graph = Transition.from_edges(edges, None, 400, undirected=undirected, dtype=torch.float64)
    damping = 1 - restart
    seeds = torch.zeros(400, 1, dtype=torch.float64)
    seeds[7] = 1
    dense = torch.eye(400, dtype=torch.float64) - damping * graph.matrix.to_dense()
    exact = restart * np.linalg.solve(dense.numpy(), seeds.numpy())
    monkeypatch.setattr(pagerank, "_certificate", lambda *arguments: None)
    energy = personalized_pagerank(graph, seeds, restart, 1e-6)
    assert np.abs(energy.numpy() - exact).sum() <= 1e-6
