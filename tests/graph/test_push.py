import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_research.errors import ConfigError, DataError
from rag_research.graph.pagerank import personalized_pagerank
from rag_research.graph.push import ForwardPush
from rag_research.graph.transition import Transition


def _graph(size: int, edges: int, seed: int, undirected: bool = True) -> Transition:
    rng = np.random.default_rng(seed)
    index = rng.integers(0, size, (2, edges))
    return Transition.from_edges(
        index, rng.uniform(0.1, 1, edges), size, undirected=undirected, dtype=torch.float64
    )


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 99), st.sampled_from([0.5, 0.15]), st.sampled_from([1e-2, 1e-3, 1e-5]))
def test_the_bound_of_andersen_chung_lang_holds(seed: int, restart: float, epsilon: float) -> None:
    transition = _graph(60, 240, seed)
    rng = np.random.default_rng(seed)
    nodes, weights = rng.choice(60, 3, replace=False), rng.uniform(0.1, 1, 3)
    if float(transition.degree[nodes].min()) == 0:
        return
    seeds = torch.zeros(60, dtype=torch.float64)
    seeds[nodes] = torch.from_numpy(weights / weights.sum())
    exact = personalized_pagerank(transition, seeds, restart, 1e-12).numpy()
    found = ForwardPush(transition).top(nodes, weights, 60, restart, epsilon)
    unit = float(transition.degree.sum()) / len(transition.matrix.values())
    bound = np.zeros(60)
    bound[found.nodes] = found.energy
    gap = exact - bound
    assert gap.min() > -1e-10
    assert (gap <= epsilon * transition.degree.numpy() / unit + 1e-10).all()
    assert found.unspent == pytest.approx(gap.sum(), abs=1e-9)


@pytest.mark.parametrize("undirected", [True, False])
def test_small_epsilon_finds_the_exact_order(undirected: bool) -> None:
    transition = _graph(500, 900, 1, undirected)  # directed: with dangling nodes
    assert transition.dangling
    push = ForwardPush(transition)
    for seed in range(5):
        seeds = torch.zeros(500, dtype=torch.float64)
        seeds[seed] = 1
        exact = personalized_pagerank(transition, seeds, 0.5, 1e-13).numpy()
        found = push.top([seed], k=10, epsilon=1e-12)
        strongest = np.lexsort((np.arange(500), -exact))[: len(found.nodes)]
        np.testing.assert_allclose(exact[found.nodes], exact[strongest], atol=1e-9)
        np.testing.assert_allclose(found.energy, exact[strongest], atol=1e-9)


def test_by_hand_and_ties_by_id() -> None:
    star = Transition.from_edges([[0, 0, 0], [3, 1, 2]], undirected=True)
    found = ForwardPush(star).top([0], k=3, epsilon=1e-12)
    # hub = 1/2 + 1/2 leaves, leaves = 1/2 hub -> hub 2/3, each leaf 1/9
    assert found.nodes.tolist() == [0, 1, 2]
    np.testing.assert_allclose(found.energy, [2 / 3, 1 / 9, 1 / 9], atol=1e-9)


def test_a_seed_without_edges_keeps_everything() -> None:
    graph = Transition.from_edges([[0], [1]], None, 3, undirected=True)
    found = ForwardPush(graph).top([2], epsilon=1e-9)
    assert found.nodes.tolist() == [2]
    assert found.energy[0] == pytest.approx(1.0, abs=1e-8)


def test_work_stays_local() -> None:
    ring = torch.arange(100_000)
    graph = Transition.from_edges(torch.stack([ring, (ring + 1) % 100_000]), undirected=True)
    found = ForwardPush(graph).top([5], k=1000, epsilon=1e-4)
    assert len(found.nodes) < 50
    assert set(found.nodes.tolist()) <= set(range(0, 30)) | set(range(99_970, 100_000))


def test_buffers_carry_nothing_over_to_the_next_query() -> None:
    transition = _graph(200, 800, 4)
    push = ForwardPush(transition)
    first = push.top([1, 2], k=20)
    push.top([150], k=20, restart=0.15)
    again = push.top([1, 2], k=20)
    assert first.nodes.tolist() == again.nodes.tolist()
    assert first.energy.tolist() == again.energy.tolist()


def test_restart_one_and_zero_weights() -> None:
    transition = _graph(50, 200, 5)
    found = ForwardPush(transition).top([3, 4], [1.0, 0.0], restart=1.0)
    assert found.nodes.tolist() == [3]
    assert found.energy.tolist() == [1.0]


@pytest.mark.parametrize("settings_", [{"restart": 0.0}, {"epsilon": 0.0}, {"k": 0}])
def test_settings_out_of_range(settings_: dict[str, float]) -> None:
    push = ForwardPush(_graph(5, 10, 0))
    with pytest.raises(ConfigError, match="expected restart in"):
        push.top([0], **settings_)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("nodes", "weights", "message"),
    [
        ([], None, "expected ids from 0 to 4"),
        ([5], None, "expected ids from 0 to 4"),
        ([1, 1], None, "repeated"),
        ([1], [1.0, 2.0], "weights: got shape"),
        ([1], [-1.0], "expected a positive sum"),
        ([1], [0.0], "expected a positive sum"),
    ],
)
def test_unusable_seeds(nodes: list[int], weights: list[float] | None, message: str) -> None:
    push = ForwardPush(_graph(5, 10, 0))
    with pytest.raises(DataError, match=message):
        push.top(nodes, weights)
