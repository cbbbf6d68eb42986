"""Energy-driven pathfinding on a graph small enough to work out by hand.

    v0 --1-- v1 --1-- v2      v3 (alone)

The walk from v0: with restart 1/2, e = 1/2 s + 1/2 P^T e has the solution 7/12, 4/12, 1/12.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_research.config import build
from rag_research.errors import ConfigError
from rag_research.graph.anchors import anchor_scores, best, entity_quota, positive, softmax
from rag_research.graph.candidates import Candidates, Query
from rag_research.graph.diffusion import DIFFUSIONS
from rag_research.graph.nodes import SemanticNode
from rag_research.graph.pathfinding import PathfindingConfig, Paths, bfs, find_paths
from rag_research.graph.selectors import count_tokens
from rag_research.graph.topology import Topology, TopologyConfig, graph_data
from rag_research.registry import SELECTORS
from rag_research.types import Span

PUBLISHED = build(PathfindingConfig, {"selector": "threshold", "connectivity": "bfs"})
CHAIN = (np.array([0, 1]), np.array([1, 2]))
ONES = np.array([[1.0, 0, 0], [1.0, 0, 0]])


def nodes(*entities: str) -> list[SemanticNode]:
    return [
        SemanticNode(Span(f"d{n}", 0, 9, f"words {n} ."), 0, f"D{n}", frozenset(names.split()))
        for n, names in enumerate(entities)
    ]


def chain(vectors=((1, 0), (0.6, 0.8), (0, 1), (-1, 0)), entities=("", "keld", "orr", "keld")):
    return graph_data(
        nodes(*entities), np.array(vectors, np.float32), CHAIN, ONES, TopologyConfig()
    )


QUERY = Query("q", np.array([1, 0], np.float32), frozenset(("keld", "elin")))


FOUND_BY_ONE = {"anchors": 1, "entity_boost": 0.0}


def find(**changes) -> Paths:
    settings_ = {**FOUND_BY_ONE, "selector": "threshold", "connectivity": "bfs", **changes}
    return find_paths(chain(), QUERY, build(PathfindingConfig, settings_))


def test_anchor_scores_by_hand() -> None:
    # cosines 1, .6, 0, -1; one of two entities shared adds 0.5 * 1 / 2.
    assert anchor_scores(chain(), QUERY, 0.5) == pytest.approx([1, 0.85, 0, -0.75])
    nothing_asked = Query("q", QUERY.vector)
    assert anchor_scores(chain(), nothing_asked, 0.5) == pytest.approx([1, 0.6, 0, -1])


def test_choice_of_anchors() -> None:
    scores = np.array([0.5, 0.9, 0.5, 0.1])
    assert best(scores, chain(), QUERY, 3) == [1, 0, 2]
    assert best(scores, chain(), QUERY, 9) == [1, 0, 2, 3]
    two = Query("q", QUERY.vector, frozenset(("orr", "keld")))
    assert entity_quota(scores, chain(), two, 2) == [1, 2]  # best with keld, best with orr
    assert entity_quota(scores, chain(), two, 3) == [1, 2, 0]
    assert entity_quota(scores, chain(), Query("q", QUERY.vector), 2) == [1, 0]


def test_initial_energy() -> None:
    scores = np.array([0.6, -0.2, 0.2])
    assert positive(scores, [0, 1, 2]) == pytest.approx([0.75, 0, 0.25])
    assert positive(np.array([-1.0, -2.0]), [0, 1]) == pytest.approx([0.5, 0.5])
    assert softmax(np.array([0.0, np.log(3), 5]), [0, 1]) == pytest.approx([0.25, 0.75, 0])
    assert positive(np.empty(0), []).shape == (0,)


@pytest.mark.parametrize("name", ["ppr", "exact", "push"])
def test_diffusion_by_hand(name: str) -> None:
    energy = DIFFUSIONS[name](chain(), np.array([1.0, 0, 0, 0]), 0.5)
    assert energy == pytest.approx(
        [7 / 12, 4 / 12, 1 / 12, 0], abs=1e-4 if name == "push" else 1e-8
    )


def test_short_diffusions_by_hand() -> None:
    seeds = np.array([0.5, 0.5, 0, 0])
    assert DIFFUSIONS["none"](chain(), seeds, 0.5) == pytest.approx(seeds)
    assert DIFFUSIONS["one_hop"](chain(), seeds, 0.5) == pytest.approx([0.375, 0.5, 0.125, 0])


@pytest.mark.parametrize("name", sorted(DIFFUSIONS))
def test_energy_on_a_lone_node_stays(name: str) -> None:
    seeds = np.array([0, 0, 0, 1.0])
    assert DIFFUSIONS[name](chain(), seeds, 0.5) == pytest.approx(seeds, abs=1e-4)


@pytest.mark.parametrize("name", sorted(DIFFUSIONS))
def test_an_empty_graph_has_no_energy(name: str) -> None:
    assert DIFFUSIONS[name](Topology().data(), np.empty(0), 0.5).shape == (0,)


def candidates(energy, anchors=(0,)) -> Candidates:
    energy = np.array(energy)
    return Candidates(QUERY, chain(), energy, list(anchors), energy, energy)


def selected(name: str, levels, anchors=(0,), **values) -> list[int]:
    cls = SELECTORS.get(name)
    return cls(build(cls.Config, values)).select(candidates(levels, anchors))


def test_selectors_by_hand() -> None:
    energy = [0.005, 0.6, 0.385, 0.01]
    assert selected("threshold", energy) == [0, 1, 2, 3]  # 0 as an anchor, 3 at the threshold
    assert selected("threshold", energy, (1,)) == [1, 2, 3]
    assert selected("threshold", energy, (1,), energy=0.5) == [1]
    assert selected("relative", energy, (1,), share=0.5) == [1, 2]
    assert selected("top_energy", energy, (1,), k=2) == [1, 2]
    assert selected("none", [0, 0.6, 0.4, 0], (1,)) == [1, 2]
    assert selected("random", energy, k=9) == [0, 1, 2, 3]
    assert selected("random", energy, k=2) == selected("random", energy, k=2)


def test_token_budget() -> None:
    assert count_tokens("words 0 .") == 3
    energy = [0.1, 0.6, 0.3, 0]
    assert selected("token_budget", energy, tokens=6) == [1, 2]
    assert selected("token_budget", energy, tokens=2) == [1]  # the best one is always read


def test_search_goes_over_selected_nodes_alone() -> None:
    assert bfs(chain(), [0, 1, 2, 3], [0]) == [0, 1, 2]
    assert bfs(chain(), [0, 2, 3], [0]) == [0]  # the way to 2 led through 1
    assert bfs(chain(), [0, 2, 3], [0, 3]) == [0, 3]
    assert bfs(chain(), [], [0]) == []


def test_the_whole_path() -> None:
    paths = find()
    assert paths.candidates.anchors == [0]
    assert paths.candidates.energy == pytest.approx([7 / 12, 4 / 12, 1 / 12, 0], abs=1e-8)
    assert paths.selected == [0, 1, 2]
    assert paths.kept == [0, 1, 2]
    assert find(selector={"name": "threshold", "energy": 0.1}).kept == [0, 1]
    assert find(diffusion="none").kept == [0]
    assert find(anchors=4, charge="softmax").kept == [0, 1, 2, 3]


def test_connectivity_and_its_null_object() -> None:
    everything = {"name": "random", "k": 4}
    assert find(selector=everything).kept == [0, 1, 2]
    assert find(selector=everything, connectivity="none").kept == [0, 1, 2, 3]


def test_keep_probabilities_count_for_the_learned_selector_alone() -> None:
    learned = np.array([0.0, 0.25, 0.75, 0.0])
    settings_ = {**FOUND_BY_ONE, "selector": {"name": "learned", "tokens": 6}}
    paths = find_paths(chain(), QUERY, build(PathfindingConfig, settings_), None, learned)
    assert paths.candidates.energy == pytest.approx(learned)
    assert paths.candidates.anchors == [2]
    assert paths.kept == [1, 2]
    for name in ("threshold", "relative", "top_energy", "token_budget", "random", "none"):
        config = build(PathfindingConfig, {**FOUND_BY_ONE, "selector": name})
        published = find_paths(chain(), QUERY, config)
        assert published.candidates.energy == pytest.approx([7 / 12, 4 / 12, 1 / 12, 0], abs=1e-8)
        beside = find_paths(chain(), QUERY, config, None, learned)
        assert beside.candidates.energy == pytest.approx(published.candidates.energy)
        assert (beside.candidates.anchors, beside.kept) == ([0], published.kept)


def test_an_empty_graph_has_no_paths() -> None:
    paths = find_paths(Topology().data(), QUERY, PUBLISHED)
    assert (paths.candidates.anchors, paths.selected, paths.kept) == ([], [], [])


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 999))
def test_energy_is_conserved_and_the_iteration_agrees_with_the_solver(seed: int) -> None:
    random = np.random.default_rng(seed)
    size = int(random.integers(1, 30))
    vectors = random.normal(size=(size, 3)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    topology = Topology(TopologyConfig(cosine=0.2))
    topology.add(nodes(*["keld " * int(random.integers(0, 2))] * size), vectors)
    graph = topology.data()
    query = Query("q", vectors[0], frozenset(("keld",)))
    paths = find_paths(graph, query, PUBLISHED)
    energy = paths.candidates.energy
    assert energy.sum() == pytest.approx(1, abs=1e-6)
    assert energy == pytest.approx(
        DIFFUSIONS["exact"](graph, paths.candidates.seeds, 0.5), abs=1e-7
    )
    assert set(paths.candidates.anchors) <= set(paths.kept) <= set(paths.selected)


@pytest.mark.parametrize("setting", [{"anchors": 0}, {"restart": 0.0}, {"diffusion": "heat"}])
def test_impossible_settings_are_refused(setting) -> None:
    with pytest.raises(ConfigError):
        build(PathfindingConfig, setting)
