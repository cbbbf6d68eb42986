"""The graph of chunks, triplets and communities: order, neighbours, search, passages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rag_research.errors import DataError
from rag_research.graph.heterogeneous import (
    Entity,
    HeterogeneousGraph,
    Kind,
    Node,
    Relation,
    chunk_node_id,
    community_node_id,
    triplet_node_id,
)
from rag_research.types import Hit, Triplet


def unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


A = Relation(Triplet("Ilka Sundmark", "founded", "Vellamy"), "chunk:p1")
B = Relation(Triplet("the Vellamy", "stands on", "Mount Orrest"), "chunk:p2@10")
C = Relation(Triplet("Corben", "paid", "Corben"), "chunk:p1")
D = Relation(Triplet("Nobody", "knows", "Nothing"), origin="inferred")
IDS = {name: triplet_node_id(r) for name, r in {"A": A, "B": B, "C": C, "D": D}.items()}
TEAM = community_node_id(["vellamy", "ilka sundmark", "mount orrest"])


def small(order: int = 1) -> HeterogeneousGraph:
    """Two chunks, four triplets, one community; ``order`` -1 turns the input round."""
    relations = {IDS[n]: r for n, r in {"A": A, "B": B, "C": C, "D": D}.items()}
    nodes = [Node(chunk_node_id("p1"), "chunk", "one"), Node("chunk:p2@10", "chunk", "two")]
    nodes += [Node(id, "triplet", r.text) for id, r in relations.items()]
    nodes.append(Node(TEAM, "community", "a summary"))
    vectors = unit(np.arange(1, 22, dtype=np.float32).reshape(7, 3) % 5 + 0.25)
    return HeterogeneousGraph(
        nodes[::order],
        vectors[::order],
        {"vellamy": Entity("Vellamy", "observatory")},
        relations,
        {TEAM: ["vellamy", "mount orrest", "ilka sundmark"]},
        {"chunk:p2@10": "p2"},
    )


def test_the_order_of_nodes_does_not_depend_on_the_input() -> None:
    graph, turned = small(), small(-1)
    assert graph.nodes == turned.nodes
    assert np.array_equal(graph.vectors, turned.vectors)
    kinds = [node.kind for node in graph.nodes]
    assert kinds == ["chunk"] * 2 + ["triplet"] * 4 + ["community"]
    assert [n.id for n in graph.of_kind("triplet")] == sorted(IDS.values())
    assert graph.of_kind("community") == (graph.node(TEAM),)


def test_ids_come_from_content() -> None:
    assert community_node_id(["mount orrest", "ilka sundmark", "vellamy"]) == TEAM
    assert triplet_node_id(A) != triplet_node_id(Relation(A.triplet, "chunk:p2"))
    assert triplet_node_id(A) == triplet_node_id(Relation(A.triplet, A.chunk, "refined"))


def test_neighbours_over_each_kind_of_edge() -> None:
    graph = small()
    assert graph.neighbours("chunk:p1") == tuple(sorted([IDS["A"], IDS["C"]]))
    # A and B share Vellamy, whose spellings differ by an article.
    assert graph.neighbours(IDS["A"]) == tuple(sorted(["chunk:p1", IDS["B"], TEAM]))
    assert graph.neighbours(IDS["C"]) == ("chunk:p1",)
    assert graph.neighbours(IDS["D"]) == ()
    assert graph.neighbours(TEAM) == tuple(sorted([IDS["A"], IDS["B"]]))
    assert graph.triplets_inside(TEAM) == tuple(sorted([IDS["A"], IDS["B"]]))


def test_passages_behind_each_kind_of_node() -> None:
    graph = small()
    assert graph.passages("chunk:p1") == ("p1",)
    assert graph.passages("chunk:p2@10") == ("p2",)
    assert graph.passages(IDS["B"]) == ("p2",)
    assert graph.passages(IDS["D"]) == ()
    assert graph.passages(TEAM) == ("p1", "p2")


def test_an_unknown_id_is_an_error_that_names_it() -> None:
    for ask in (small().node, small().neighbours, small().passages):
        with pytest.raises(DataError, match="'chunk:none'"):
            ask("chunk:none")


def test_parts_that_do_not_fit_are_refused() -> None:
    node, vector = Node("chunk:x", "chunk", "x"), np.eye(2, dtype=np.float32)
    with pytest.raises(DataError, match="two nodes with the id 'chunk:x'"):
        HeterogeneousGraph([node, node], vector, {}, {})
    with pytest.raises(DataError, match=r"1 nodes and vectors of shape \(2, 2\)"):
        HeterogeneousGraph([node], vector, {}, {})
    with pytest.raises(DataError, match="triplet nodes"):
        HeterogeneousGraph([node], vector[:1], {}, {"triplet:y": A})


def test_a_hub_brings_its_nearest_relations_only() -> None:
    relations = {}
    for number in range(10_000):
        relation = Relation(Triplet("Hub", "knows", f"thing {number}"), f"chunk:{number}")
        relations[triplet_node_id(relation)] = relation
    nodes = [Node(id, "triplet", r.text) for id, r in relations.items()]
    vectors = unit(np.random.default_rng(0).normal(size=(10_000, 8)).astype(np.float32))
    everyone = {"hub", *(f"thing {n}" for n in range(10_000))}
    graph = HeterogeneousGraph(
        [*nodes, Node("community:all", "community", "all")],
        np.concatenate([vectors, vectors[:1]]),
        {},
        relations,
        {"community:all": sorted(everyone)},
        hub_limit=20,
    )
    asked = nodes[7].id
    scores = graph.vectors[:10_000] @ graph.vectors[graph.row(asked)]
    nearest = {graph.nodes[i].id for i in np.argsort(-scores)[:21]} - {asked}
    assert graph.neighbours(asked) == tuple(sorted({*nearest, "community:all"}))
    assert len(graph.neighbours("community:all")) == 20
    assert len(graph.passages("community:all")) == 10_000


def test_search_keeps_to_the_kinds_and_breaks_ties_by_id() -> None:
    same = unit(np.ones((3, 2), dtype=np.float32))
    nodes = [Node(f"chunk:{name}", "chunk", name) for name in "cab"]
    graph = HeterogeneousGraph(nodes, same, {}, {})
    assert graph.search(same[:1], 2) == [[Hit("chunk:a", 1.0), Hit("chunk:b", 1.0)]]
    assert graph.search(same[:1], 2, ("triplet", "community")) == [[]]
    assert graph.search(same[:1], 0) == [[]]
    assert graph.search(same[:0], 2) == []


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**31), st.integers(1, 9), st.sets(st.sampled_from(["chunk", "triplet"])))
def test_search_against_sorting_everything(seed: int, k: int, kinds: set[Kind]) -> None:
    random = np.random.default_rng(seed)
    relations = {f"triplet:{i}": Relation(Triplet("a", "b", f"{i}")) for i in range(6)}
    nodes = [Node(f"chunk:{i}", "chunk", str(i)) for i in range(6)]
    nodes += [Node(id, "triplet", "t") for id in relations]
    vectors = unit(random.integers(-2, 3, size=(12, 3)).astype(np.float32) + 0.1)
    graph = HeterogeneousGraph(nodes, vectors, {}, relations)
    queries = vectors[:3]
    for query, hits in zip(queries, graph.search(queries, k, kinds), strict=True):
        every = [
            Hit(node.id, float(np.round(np.float64(vector @ query), 6)))
            for node, vector in zip(graph.nodes, graph.vectors, strict=True)
            if node.kind in kinds
        ]
        every.sort(key=lambda hit: (-hit.score, hit.id))
        assert [hit.score for hit in hits] == pytest.approx([h.score for h in every[:k]], abs=2e-6)
        assert len(hits) == min(k, len(every))
        assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.id))


def test_a_given_searcher_is_asked_for_its_kind() -> None:
    class Fixed:
        def search_vectors(self, queries: NDArray[np.float32], k: int) -> list[list[Hit]]:
            return [[Hit("chunk:from the index", 0.9)] for _ in queries]

    nodes = [Node("chunk:x", "chunk", "x"), Node("triplet:y", "triplet", "y")]
    graph = HeterogeneousGraph(
        nodes, np.eye(2, dtype=np.float32), {}, {"triplet:y": A}, searchers={"chunk": Fixed()}
    )
    query = np.eye(2, dtype=np.float32)[:1]
    assert graph.search(query, 5)[0] == [Hit("chunk:from the index", 0.9), Hit("triplet:y", 0.0)]
