"""Entities and relations out of triplets, the same in any order."""

from __future__ import annotations

import networkx
from hypothesis import given
from hypothesis import strategies as st

from rag_research.graph.entity_graph import build_entity_graph, components
from rag_research.types import Entity, Triplet

TRIPLETS = {
    "p1": [Triplet("The Beatles", "recorded", "Help!"), Triplet("beatles", "are", "a band")],
    "p2": [Triplet("The Beatles", "made", "Help"), Triplet("echo", "answers", "Echo")],
    "p3": [Triplet("???", "is", "something"), Triplet("Help!", "was recorded by", "The Beatles")],
}
DESCRIBED = {
    "p1": [Entity("Beatles", "band", "from Liverpool"), Entity("Nobody", "person")],
    "p2": [Entity("the beatles", "group", "four of them"), Entity("BEATLES", "band", "four of us")],
}


def test_spellings_meet_and_edges_count_relations() -> None:
    graph = build_entity_graph(TRIPLETS, DESCRIBED)
    assert graph.entities == {
        "band": Entity("a band"),
        "beatles": Entity("The Beatles", "band", "from Liverpool"),
        "echo": Entity("Echo"),
        "help": Entity("Help!"),
    }
    assert graph.edges == (("band", "beatles", 1.0), ("beatles", "help", 3.0))
    assert len(graph.relations) == 5
    assert {r.chunk for r in graph.relations.values()} == {"chunk:p1", "chunk:p2", "chunk:p3"}


def test_no_triplet_gives_an_empty_graph() -> None:
    graph = build_entity_graph({"p1": []}, DESCRIBED)
    assert (graph.entities, graph.relations, graph.edges) == ({}, {}, ())


@given(st.permutations(sorted(TRIPLETS)), st.permutations(sorted(DESCRIBED)), st.booleans())
def test_the_order_of_chunks_and_rows_does_not_matter(
    chunks: list[str], tellers: list[str], turned: bool
) -> None:
    step = -1 if turned else 1
    other = build_entity_graph(
        {id: TRIPLETS[id][::step] for id in chunks}, {id: DESCRIBED[id][::step] for id in tellers}
    )
    first = build_entity_graph(TRIPLETS, DESCRIBED)
    assert other == first
    assert list(other.entities) == list(first.entities)
    assert list(other.relations) == list(first.relations)


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=15))
def test_components_against_networkx(pairs: list[tuple[int, int]]) -> None:
    edges = sorted({(f"{min(p):02}", f"{max(p):02}", 1.0) for p in pairs if p[0] != p[1]})
    theirs = networkx.Graph([edge[:2] for edge in edges])
    found = [{name for edge in group for name in edge[:2]} for group in components(edges)]
    assert sorted(map(sorted, found)) == sorted(map(sorted, networkx.connected_components(theirs)))
    assert sorted(edge for group in components(edges) for edge in group) == edges
