"""What a round works with: retrieved nodes, and triplets put in their place."""

import numpy as np

from rag_research.graph.heterogeneous import HeterogeneousGraph, Node, Relation, triplet_node_id
from rag_research.graph.subgraph import Subgraph, readable
from rag_research.types import Hit, Triplet

DIRECTED = Relation(Triplet("Mia Orr", "directed", "Salt Road"), "chunk:film")
LONG = Relation(Triplet("Salt Road", "is", "long"), "chunk:film")
BORN = Relation(Triplet("Mia Orr", "was born in", "Keld"), "chunk:person", "refined")
GUESS = Relation(Triplet("Keld", "lies in", "Norvia"), "", "inferred")
D, L = triplet_node_id(DIRECTED), triplet_node_id(LONG)
GRAPH = HeterogeneousGraph(
    [
        Node("chunk:film", "chunk", "Salt Road\nMia Orr directed it."),
        Node("chunk:person", "chunk", "Mia Orr\nShe was born in Keld."),
        Node(D, "triplet", DIRECTED.text),
        Node(L, "triplet", LONG.text),
        Node("community:c", "community", "A film and its director."),
    ],
    np.eye(5, dtype=np.float32),
    {},
    {D: DIRECTED, L: LONG},
    {"community:c": ["mia orr", "salt road"]},
)
FOUND = Subgraph.found(
    GRAPH, [Hit(D, 0.9), Hit("chunk:film", 0.8), Hit("community:c", 0.5), Hit(L, 0.4)]
)


def test_elements_are_the_nodes_in_the_order_of_retrieval() -> None:
    assert [e.kind for e in FOUND.elements] == ["triplet", "chunk", "community", "triplet"]
    assert [e.score for e in FOUND.elements] == [0.9, 0.8, 0.5, 0.4]
    assert {e.passages for e in FOUND.elements} == {("film",)}
    assert FOUND.relations == (DIRECTED, LONG)
    assert [e.id for e in FOUND.chunks] == ["chunk:film"]
    assert Subgraph.found(GRAPH, []) == Subgraph()


def test_triplets_take_the_place_of_the_retrieved_ones() -> None:
    before = Subgraph.found(GRAPH, [Hit("chunk:person", 0.6)])
    evolved = FOUND.with_relations([BORN, GUESS, DIRECTED], before)
    assert [e.id for e in evolved.elements[:3]] == [D, "chunk:film", "community:c"]
    born, guess = evolved.elements[3:]
    assert (born.text, born.score, born.passages) == ("Mia Orr was born in Keld", 0.3, ("person",))
    assert (guess.score, guess.passages, guess.relation) == (0.0, (), GUESS)
    assert evolved.relations == (DIRECTED, BORN, GUESS)


def test_a_triplet_of_the_sub_graph_before_keeps_its_score() -> None:
    before = Subgraph.found(GRAPH, [Hit(L, 0.7)])
    here = Subgraph.found(GRAPH, [Hit("chunk:person", 0.6)])
    evolved = here.with_relations([LONG], before)
    assert [(e.id, e.score) for e in evolved.elements] == [("chunk:person", 0.6), (L, 0.7)]
    assert here.with_relations([], before) == here


def test_what_the_model_reads_has_each_text_once() -> None:
    twice = (*FOUND.elements, *FOUND.elements)
    assert readable(twice).split("\n\n") == [e.text for e in FOUND.elements]
    assert readable([]) == "nothing was found"


def test_a_trace_tells_what_is_said_of_communities() -> None:
    assert FOUND.described()["communities"] == {"community:c": "A film and its director."}


def test_a_trace_names_nodes_and_origins() -> None:
    told = FOUND.with_relations([BORN], Subgraph()).described()
    assert told["nodes"][0] == ["chunk:film", 0.8]
    assert told["triplets"] == [["Mia Orr", "was born in", "Keld", "refined"]]
