"""Nodes by vector, along edges, and by the path selector."""

import math
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_research.corpus.corpus import Corpus
from rag_research.embed.base import Role, Vectors
from rag_research.embed.hashing import Hashing, HashingConfig
from rag_research.graph import node_retrieval
from rag_research.graph.heterogeneous import HeterogeneousGraph, Node, Relation
from rag_research.graph.node_retrieval import NodesByHybrid, NodesByVector, by_paths
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.types import Passage, Triplet


class Fixed:
    """Reads every query as the first axis."""

    identity: ClassVar = {"encoder": "fixed"}
    dimension = 2

    def encode(self, texts, role: Role) -> Vectors:
        return np.tile(np.array([[1, 0]], np.float32), (len(texts), 1))


def graph(cosines: dict[str, float], mentioned: dict[str, str]) -> HeterogeneousGraph:
    """Nodes with given cosines to the query; triplets with the chunk they are from."""
    kinds = {"c": "chunk", "t": "triplet"}
    nodes = [Node(id, kinds[id[0]], id) for id in cosines]  # type: ignore[arg-type]
    vectors = [[c, math.sqrt(1 - c * c)] for c in cosines.values()]
    relations = {id: Relation(Triplet(id, "is", id), c) for id, c in mentioned.items()}
    return HeterogeneousGraph(nodes, np.array(vectors, np.float32), {}, relations)


NEAR = graph({"c1": 0.9, "c2": 0.3, "c3": 0.2, "t1": 0.1, "t2": 0.44}, {"t1": "c1", "t2": "c2"})


def test_by_vector_the_best_of_all_types_in_one_list() -> None:
    (hits,) = NodesByVector(NEAR, Fixed()).search(["q"], 3)
    assert [(h.id, h.score) for h in hits] == [("c1", 0.9), ("t2", 0.44), ("c2", 0.3)]


def test_a_neighbour_gets_half_of_its_source_where_that_is_more() -> None:
    (hits,) = NodesByHybrid(NEAR, Fixed()).search(["q"], 3)
    # t1 is one edge from c1: max(0.1, 0.9 / 2). It drives c2 out, whose 0.3 beats 0.44 / 2.
    assert [(h.id, round(h.score, 6)) for h in hits] == [("c1", 0.9), ("t1", 0.45), ("t2", 0.44)]


def test_a_source_below_zero_lifts_nobody() -> None:
    below = graph({"c1": -0.2, "t1": -0.6}, {"t1": "c1"})
    (hits,) = NodesByHybrid(below, Fixed()).search(["q"], 2)
    assert [(h.id, h.score) for h in hits] == [("c1", -0.2), ("t1", -0.6)]


@given(
    st.lists(st.floats(-1, 1), min_size=1, max_size=8),
    st.lists(st.floats(-1, 1), max_size=8),
    st.integers(1, 6),
)
def test_hybrid_equals_its_formula(chunks: list[float], triplets: list[float], k: int) -> None:
    cosines = {f"c{i}": c for i, c in enumerate(chunks)}
    mentioned = {f"t{i}": f"c{i % len(chunks)}" for i in range(len(triplets))}
    made = graph({**cosines, **{f"t{i}": c for i, c in enumerate(triplets)}}, mentioned)
    vector = NodesByVector(made, Fixed()).search(["q"], len(made))[0]
    own = {hit.id: hit.score for hit in vector}
    seeds = {hit.id for hit in vector[:k]}
    edges = [*mentioned.items(), *((c, t) for t, c in mentioned.items())]
    wanted = {id: own[id] for id in seeds}
    for source, target in edges:
        if source in seeds:
            lifted = own[source] / 2 if own[source] > 0 else -2.0
            wanted[target] = max(wanted.get(target, own[target]), lifted)
    order = sorted(wanted.items(), key=lambda item: (-item[1], item[0]))[:k]
    (hits,) = NodesByHybrid(made, Fixed()).search(["q"], k)
    assert [h.score for h in hits] == pytest.approx([score for _, score in order], abs=1e-5)
    assert len({h.id for h in hits}) == len(hits)


@pytest.mark.parametrize("kind", [NodesByVector, NodesByHybrid])
def test_nothing_to_find(kind: type[NodesByVector]) -> None:
    empty = HeterogeneousGraph([], np.zeros((0, 2), np.float32), {}, {})
    assert kind(empty, Fixed()).search(["a", "b"], 5) == [[], []]
    assert kind(NEAR, Fixed()).search([], 5) == []
    assert kind(NEAR, Fixed()).search(["a"], 0) == [[]]


def test_paths_are_told_where_chunks_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = "The mill ground rye for a year. It burned down in May."
    corpus = Corpus(
        [Passage("b", "Mill", long), Passage("a", "", "Rye is a grain that bakers use.")]
    )
    cut = len("The mill ground rye for a year. ")
    nodes = [
        Node("chunk:b@32", "chunk", f"Mill\n{long[cut:]}"),
        Node("chunk:b@0", "chunk", f"Mill\n{long[:cut]}"),
        Node("chunk:a", "chunk", corpus["a"].text),
    ]
    of = {"chunk:b@32": "b", "chunk:b@0": "b"}
    made = HeterogeneousGraph(nodes, np.eye(3, dtype=np.float32), {}, {}, passage_of=of)
    seen = {}

    def build(chunks, encoder, store, selector, places):
        seen.update(chunks={p.id: (p.title, p.text) for p in chunks}, places=places)
        return "retriever"

    monkeypatch.setattr(node_retrieval, "build_path_retriever", build)
    monkeypatch.setattr(node_retrieval, "load_selector", lambda name: name)
    hashing = Hashing(HashingConfig())
    assert by_paths(made, corpus, hashing, ArtifactStore(tmp_path), "s") == "retriever"
    assert seen["chunks"]["chunk:b@32"] == ("Mill", "It burned down in May.")
    assert seen["chunks"]["chunk:a"] == ("", corpus["a"].text)
    assert seen["places"] == {"chunk:b@0": (0, 0), "chunk:b@32": (0, 1), "chunk:a": (1, 0)}
