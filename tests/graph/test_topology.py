"""The topology graph: each kind of edge by hand, weights, order, growth, files."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_research.config import build
from rag_research.embed.hashing import Hashing
from rag_research.errors import ConfigError, DataError
from rag_research.graph.nodes import SemanticNode
from rag_research.graph.topology import Topology, TopologyConfig, drawing, edge_counts
from rag_research.graph.topology_files import load_graph, save_graph
from rag_research.types import Span

WORDS = (
    *("river", "bridge", "council", "harbour", "engine"),
    *("painter", "valley", "museum", "treaty", "railway"),
)


def node(document: str, position: int, text: str, *entities: str) -> SemanticNode:
    span = Span(document, 100 * position, 100 * position + len(text), text)
    return SemanticNode(span, position, document.title(), frozenset(entities))


def graph_of(nodes, vectors, **settings):
    topology = Topology(build(TopologyConfig, settings))
    topology.add(nodes, np.array(vectors, np.float32))
    return topology.data()


def edges(graph) -> dict[tuple[int, int], list[float]]:
    ends = graph.edge_index.t().tolist()
    return {tuple(e): v for e, v in zip(ends, graph.edge_attr.tolist(), strict=True) if e[0] < e[1]}


def same(one, other) -> bool:
    tensors = ("x", "edge_index", "edge_attr", "edge_weight")
    return one.nodes == other.nodes and all(torch.equal(one[t], other[t]) for t in tensors)


NODES = [
    node("a", 0, "one", "keld"),
    node("a", 1, "two"),
    node("b", 0, "three", "keld", "orr"),
    node("b", 1, "four"),
]
VECTORS = [[1, 0], [0, 1], [0.6, 0.8], [-1, 0]]


def test_edges_by_hand() -> None:
    found = edges(graph_of(NODES, VECTORS))
    assert found[0, 1] == [1, 0, 0]  # neighbours in a; likeness inside a document is no edge
    assert found[2, 3] == [1, 0, 0]
    assert found[0, 2] == pytest.approx([0, 0.6, 0.5], abs=1e-6)
    assert found[1, 2] == pytest.approx([0, 0.8, 0], abs=1e-6)
    assert set(found) == {(0, 1), (2, 3), (0, 2), (1, 2)}


def test_last_span_of_one_document_and_first_of_the_next_are_no_neighbours() -> None:
    found = edges(graph_of(NODES, VECTORS, semantic="none", lexical="none"))
    assert set(found) == {(0, 1), (2, 3)}


@pytest.mark.parametrize(
    ("formula", "narrative", "both"),
    [
        ("published", 0.3, 0.7 * (0.35 * 0.6 + 0.65 * 0.5)),
        ("additive", 0.3, 0.35 * 0.6 + 0.65 * 0.5),
        ("max", 0.3, 0.65 * 0.5),
    ],
)
def test_weight_formulas_by_hand(formula: str, narrative: float, both: float) -> None:
    graph = graph_of(NODES, VECTORS, weights=formula)
    weight = dict(zip(map(tuple, graph.edge_index.t().tolist()), graph.edge_weight, strict=True))
    assert float(weight[0, 1]) == pytest.approx(narrative)
    assert float(weight[0, 2]) == pytest.approx(both, abs=1e-6)
    assert float(weight[2, 0]) == float(weight[0, 2])


@pytest.mark.parametrize("kind", ["narrative", "semantic", "lexical"])
def test_each_kind_can_be_switched_off(kind: str) -> None:
    counts = edge_counts(graph_of(NODES, VECTORS, **{kind: "none"}))
    full = edge_counts(graph_of(NODES, VECTORS))
    assert counts == {**full, kind: 0, "all": counts["all"]}


def test_edges_of_weight_zero_are_left_out() -> None:
    assert (0, 1) not in edges(graph_of(NODES, VECTORS, gamma=0.0))


def test_a_neighbour_of_one_side_is_enough() -> None:
    nodes = [node(d, 0, d) for d in "abcd"]
    vectors = [[1, 0], [0.98, 0.199], [0.95, 0.312], [0.6, 0.8]]
    found = edges(graph_of(nodes, vectors, neighbours=1))
    assert (2, 3) in found  # d takes c, while c takes b


def documents(draw_seed: int, count: int) -> list[tuple[list[SemanticNode], np.ndarray]]:
    random = np.random.default_rng(draw_seed)
    encoder = Hashing(build(Hashing.Config, {"dimension": 32}))
    made = []
    for d in range(count):
        texts = [" ".join(random.choice(WORDS, size=4)) for _ in range(random.integers(1, 4))]
        nodes = [
            node(f"d{d}", n, text, *random.choice(WORDS, size=random.integers(0, 4)))
            for n, text in enumerate(texts)
        ]
        made.append((nodes, encoder.encode(texts, "passage")))
    return made


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 99), st.integers(0, 7), st.randoms(use_true_random=False))
def test_order_and_number_of_additions_do_not_matter(seed: int, count: int, draw) -> None:
    made = documents(seed, count)
    at_once, one_by_one, spans_mixed = Topology(), Topology(), Topology()
    if made:
        at_once.add([n for nodes, _ in made for n in nodes], np.concatenate([v for _, v in made]))
    draw.shuffle(made)
    for nodes, vectors in made:
        assert one_by_one.add(nodes, vectors) == len(nodes)
    single = [(n, v) for nodes, vectors in made for n, v in zip(nodes, vectors, strict=True)]
    draw.shuffle(single)
    for one, vector in single:
        spans_mixed.add([one], vector[None])
    assert same(at_once.data(), one_by_one.data())
    assert same(at_once.data(), spans_mixed.data())


def test_known_spans_are_passed_over() -> None:
    topology = Topology()
    assert topology.add(NODES, np.array(VECTORS, np.float32)) == 4
    before = topology.data()
    assert topology.add(NODES[1:3], np.array(VECTORS[1:3], np.float32)) == 0
    assert same(before, topology.data())
    assert len(topology) == 4


def test_no_spans() -> None:
    graph = Topology().data()
    assert graph.num_nodes == 0
    assert edge_counts(graph) == {"narrative": 0, "semantic": 0, "lexical": 0, "all": 0}


def test_vectors_must_fit() -> None:
    with pytest.raises(DataError, match="got shape"):
        Topology().add(NODES, np.ones((3, 2), np.float32))


@pytest.mark.parametrize("setting", [{"jaccard": 0.0}, {"neighbours": 0}, {"gamma": 1.5}])
def test_impossible_settings_are_refused(setting) -> None:
    with pytest.raises(ConfigError):
        build(TopologyConfig, setting)


def test_saved_and_loaded_graphs_are_equal(tmp_path: Path) -> None:
    graph = graph_of(NODES, VECTORS)
    save_graph(graph, tmp_path / "graph")
    assert same(load_graph(tmp_path / "graph"), graph)
    heavier = load_graph(tmp_path / "graph", TopologyConfig(weights="additive"))
    assert not torch.equal(heavier.edge_weight, graph.edge_weight)


def write(folder: Path, spans: list, lines: list) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "spans.jsonl").write_text("".join(json.dumps(s) + "\n" for s in spans), "utf-8")
    (folder / "edges.jsonl").write_text("".join(json.dumps(e) + "\n" for e in lines), "utf-8")
    return folder


SPANS = [
    {"document": "b", "start": 3, "end": 6, "text": "def"},
    {"document": "b", "start": 0, "end": 3, "text": "abc", "entities": ["keld"]},
    {"document": "a", "start": 0, "end": 1, "text": "x", "title": "A"},
]


def test_bring_your_own_graph(tmp_path: Path) -> None:
    folder = write(tmp_path / "own", SPANS, [{"source": 0, "target": 2, "lexical": 0.5}])
    graph = load_graph(folder, encoder=Hashing(build(Hashing.Config, {})))
    assert [n.span.text for n in graph.nodes] == ["x", "abc", "def"]
    assert [n.position for n in graph.nodes] == [0, 0, 1]
    assert edges(graph) == {(0, 2): [0, 0, 0.5]}
    assert graph.x.shape == (3, 256)


@pytest.mark.parametrize(
    ("spans", "lines", "message"),
    [
        ([{"document": "a"}], [], "line 1: expected document, start, end"),
        ([{**SPANS[0], "end": 9}], [], "has 3 characters"),
        ([SPANS[0], SPANS[0]], [], "same span"),
        (SPANS, [{"source": 0, "target": 3}], "expected two different line numbers"),
        (SPANS, [{"source": 0}], "line 1: expected source"),
        (SPANS, [{"source": 0, "target": 1, "lexical": -1}], "finite"),
        (SPANS, [{"source": 0, "target": 1}, {"source": 1, "target": 0}], "occurs twice"),
    ],
)
def test_unusable_files_say_where(tmp_path: Path, spans, lines, message: str) -> None:
    folder = write(tmp_path / "own", spans, lines)
    with pytest.raises(DataError, match=message):
        load_graph(folder, encoder=Hashing(build(Hashing.Config, {})))


def test_a_folder_without_vectors_needs_an_encoder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="pass an encoder"):
        load_graph(write(tmp_path / "own", SPANS, []))
    with pytest.raises(DataError, match="There is no"):
        load_graph(tmp_path / "nowhere")


def test_a_drawing_numbers_spans_as_they_came() -> None:
    topology = Topology()
    topology.add(NODES[2:], np.array(VECTORS[2:], np.float32))
    added = topology.add(NODES[:2], np.array(VECTORS[:2], np.float32))
    drawn = drawing(topology.nodes, added, topology.data())
    # The spans of b came first, so they are 0 and 1, though the graph sorts a before b.
    assert drawn["spans"] == [["a", 0, 3, "one"], ["a", 100, 103, "two"]]
    kinds = {(a, b): values for a, b, _, *values in drawn["links"]}
    assert kinds[0, 1] == kinds[2, 3] == [1, 0, 0]
    assert kinds[0, 2] == [0, 0.6, 0.5]
    weights = {(a, b): weight for a, b, weight, *_ in drawn["links"]}
    assert weights[0, 1] == 0.3
    assert weights[0, 2] == round(0.7 * (0.35 * 0.6 + 0.65 * 0.5), 4)
