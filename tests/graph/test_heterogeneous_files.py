"""The graph in files: back as it was, tensors as PyG reads them, nothing pickled."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rag_research.errors import ArtifactError
from rag_research.graph.heterogeneous import (
    Entity,
    HeterogeneousGraph,
    Node,
    Relation,
    triplet_node_id,
)
from rag_research.graph.heterogeneous_files import (
    hetero_data,
    hetero_tensors,
    load_graph,
    save_graph,
)
from rag_research.types import Triplet

FOUNDED = Relation(Triplet("Ilka", "founded", "Vellamy"), "chunk:p1@5")
ECHO = Relation(Triplet("Echo\u2028", "answers", "echo"), "", "inferred")
RELATIONS = {triplet_node_id(r): r for r in (FOUNDED, ECHO)}


def small() -> HeterogeneousGraph:
    nodes = [Node("chunk:p1@5", "chunk", "line\nline \u2028 東"), Node("chunk:p2", "chunk", "")]
    nodes += [Node(id, "triplet", r.text) for id, r in RELATIONS.items()]
    nodes.append(Node("community:c", "community", "a summary"))
    vectors = np.arange(20, dtype=np.float32).reshape(5, 4)
    entities = {"ilka": Entity("Ilka", "person", "physicist")}
    members = {"community:c": ["vellamy", "ilka"]}
    return HeterogeneousGraph(nodes, vectors, entities, RELATIONS, members, {"chunk:p1@5": "p1"})


def test_a_saved_graph_is_read_back(tmp_path: Path) -> None:
    graph = small()
    save_graph(graph, tmp_path)
    again = load_graph(tmp_path, hub_limit=7)
    assert again.nodes == graph.nodes
    assert np.array_equal(again.vectors, graph.vectors)
    assert (
        again.entities
        == graph.entities
        == {
            "echo": Entity("echo"),
            "ilka": Entity("Ilka", "person", "physicist"),
            "vellamy": Entity("Vellamy"),
        }
    )
    assert again.relations == graph.relations
    assert again.members == graph.members
    assert again.passages("community:c") == graph.passages("community:c") == ("p1",)
    assert again.hub_limit == 7


def test_tensors_point_to_the_rows_of_the_files(tmp_path: Path) -> None:
    save_graph(small(), tmp_path)
    lines = {
        name: [
            json.loads(x) for x in (tmp_path / f"{name}.jsonl").read_text("utf-8").split("\n") if x
        ]
        for name in ("chunks", "entities", "triplets", "communities")
    }
    stores = hetero_tensors(small())
    for row, triplet in enumerate(lines["triplets"]):
        subject, object_ = (
            dict(stores["triplet", role, "entity"]["edge_index"].T.tolist())[row]
            for role in ("subject", "object")
        )
        wanted = ("ilka", "vellamy") if triplet["predicate"] == "founded" else ("echo", "echo")
        assert tuple(lines["entities"][i]["key"] for i in (subject, object_)) == wanted
        assert stores["entity", "openrel", "entity"]["edge_index"].T.tolist()[row] == [
            subject,
            object_,
        ]
        assert stores["entity", "openrel", "entity"]["triplet"].tolist()[row] == row
    founded = [t["predicate"] for t in lines["triplets"]].index("founded")
    place = [c["id"] for c in lines["chunks"]].index("chunk:p1@5")
    assert stores["triplet", "mentionedin", "chunk"]["edge_index"].tolist() == [[founded], [place]]
    assert stores["community", "summaryfor", "entity"]["edge_index"].tolist() == [[0, 0], [1, 2]]


def test_pyg_takes_the_stored_tensors(tmp_path: Path) -> None:
    geometric = pytest.importorskip("torch_geometric.data")
    torch = pytest.importorskip("torch")
    save_graph(small(), tmp_path)
    stored = torch.load(tmp_path / "hetero.pt", weights_only=True)
    data = geometric.HeteroData.from_dict(stored)
    data.validate(raise_on_error=True)
    assert data["chunk"].x.shape == (2, 4)
    assert data["entity"].num_nodes == 3
    assert hetero_data(small()).metadata() == data.metadata()


def test_a_graph_without_triplets_is_kept(tmp_path: Path) -> None:
    graph = HeterogeneousGraph([Node("chunk:x", "chunk", "x")], np.ones((1, 3), np.float32), {}, {})
    save_graph(graph, tmp_path)
    again = load_graph(tmp_path)
    assert again.nodes == graph.nodes
    assert hetero_tensors(again)["triplet", "mentionedin", "chunk"]["edge_index"].shape == (2, 0)


def test_missing_and_unfitting_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="holds no graph"):
        load_graph(tmp_path)
    save_graph(small(), tmp_path)
    chunks = (tmp_path / "chunks.jsonl").read_text("utf-8")
    (tmp_path / "chunks.jsonl").write_text(chunks.split("\n")[0] + "\n", "utf-8")
    with pytest.raises(ArtifactError, match="4 nodes and vectors of 5"):
        load_graph(tmp_path)
    (tmp_path / "entities.jsonl").unlink()
    (tmp_path / "chunks.jsonl").write_text(chunks, "utf-8")
    with pytest.raises(ArtifactError, match=r"entities\.jsonl is missing"):
        load_graph(tmp_path)
