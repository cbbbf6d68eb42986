"""Communities: sizes, hierarchy, reproducible in any order and any process."""

from __future__ import annotations

import random
import subprocess
import sys

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_research.errors import MissingExtraError
from rag_research.graph.communities import Method, find_communities
from rag_research.graph.entity_graph import Edge

BOTH = pytest.mark.parametrize("method", ["leiden", "louvain"])


@pytest.fixture(autouse=True)
def _leiden_is_here() -> None:
    pytest.importorskip("graspologic_native")


def edge(a: str, b: str, weight: float = 1.0) -> Edge:
    return (min(a, b), max(a, b), weight)


def caveman() -> list[Edge]:
    """Four cliques of four, joined to a ring by single edges."""
    cliques = [[f"{c}{i}" for i in range(4)] for c in "abcd"]
    edges = [edge(a, b) for names in cliques for a in names for b in names if a < b]
    return edges + [edge(cliques[i][0], cliques[(i + 1) % 4][1]) for i in range(4)]


def scale_free(seed: int = 1, size: int = 300) -> list[Edge]:
    graph = networkx.barabasi_albert_graph(size, 2, seed=seed)
    return [edge(f"e{a:03}", f"e{b:03}") for a, b in graph.edges]


@BOTH
def test_cliques_in_a_ring_are_found(method: Method) -> None:
    found = find_communities(caveman(), method)
    assert [c.members for c in found] == [tuple(f"{c}{i}" for i in range(4)) for c in "abcd"]
    assert len({c.id for c in found}) == 4


@BOTH
def test_a_small_component_is_one_community_and_a_clique_stays_whole(method: Method) -> None:
    path = [edge("p1", "p2"), edge("p2", "p3"), edge("p3", "p4"), edge("p4", "p5")]
    clique = [edge(f"k{a}", f"k{b}") for a in range(8) for b in range(a)]
    found = find_communities([*path, *clique], method, size=5)
    assert [len(c.members) for c in found] == [8, 5]


@BOTH
def test_large_communities_are_partitioned_again(method: Method) -> None:
    edges = [edge(f"n{i:02}", f"n{i + 1:02}") for i in range(40)]
    leaves = find_communities(edges, method, size=5)
    assert max(len(c.members) for c in leaves) <= 5
    assert sorted(m for c in leaves for m in c.members) == [f"n{i:02}" for i in range(41)]
    every = find_communities(edges, method, size=5, levels="all")
    above = [c for c in every if not c.leaf]
    assert above and {c.members for c in leaves} <= {c.members for c in every}
    for community in above:  # each is the union of communities one level below
        below = [c for c in every if c.level == community.level + 1]
        parts = [c for c in below if set(c.members) <= set(community.members)]
        assert {m for c in parts for m in c.members} == set(community.members)


@BOTH
@settings(deadline=None, max_examples=15)
@given(st.randoms(use_true_random=False))
def test_shuffled_edges_give_the_same_communities(method: Method, order: random.Random) -> None:
    edges = scale_free()
    expected = find_communities(edges, method, seed=3)
    order.shuffle(edges)
    assert find_communities(edges, method, seed=3) == expected


@BOTH
def test_another_process_gives_the_same_communities(method: Method) -> None:
    code = (
        "import sys; from rag_research.graph.communities import find_communities\n"
        f"edges = {scale_free(size=120)!r}\n"
        f"print([c.members for c in find_communities(edges, {method!r}, levels='all')])"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1


@BOTH
def test_a_component_does_not_depend_on_others(method: Method) -> None:
    before = find_communities(scale_free(), method)
    more = [edge(f"new{i}", f"new{j}") for i in range(20) for j in (i + 1, i + 2)]
    after = find_communities(scale_free() + more, method)
    assert set(before) == {c for c in after if not c.members[0].startswith("new")}


@BOTH
def test_a_hub_of_ten_thousand_is_one_community(method: Method) -> None:
    found = find_communities([edge("hub", f"x{i:05}") for i in range(10_000)], method)
    assert [len(c.members) for c in found] == [10_001]


def test_small_ones_and_no_method_and_no_edges() -> None:
    pair = [edge("a", "b")]
    assert len(find_communities(pair)) == 1
    assert find_communities(pair, least=3) == ()
    assert find_communities(caveman(), "none") == ()
    assert find_communities([]) == ()


def test_partitions_are_as_good_as_networkx_finds() -> None:
    """Modularity of the first level, against networkx's own Louvain."""
    edges = scale_free(size=200)
    graph = networkx.Graph()
    graph.add_weighted_edges_from(edges)
    every = find_communities(edges, "leiden", levels="all")
    first = [set(c.members) for c in every if c.level == 0]
    assert sorted(m for c in first for m in c) == sorted(graph)
    theirs = networkx.community.louvain_communities(graph, seed=0)
    best = networkx.community.modularity(graph, theirs)
    assert networkx.community.modularity(graph, first) > best - 0.03


@pytest.mark.parametrize(
    ("method", "module"), [("leiden", "graspologic_native"), ("louvain", "networkx")]
)
def test_a_missing_library_is_named(
    monkeypatch: pytest.MonkeyPatch, method: Method, module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"{module}.*rag-research\[graph\]"):
        find_communities(caveman(), method)
