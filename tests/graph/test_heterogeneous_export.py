"""Exports, read back by the programs they are for."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import networkx
import numpy as np
import pytest

from rag_research.graph.heterogeneous import (
    Entity,
    HeterogeneousGraph,
    Node,
    Relation,
    triplet_node_id,
)
from rag_research.graph.heterogeneous_export import (
    FORMATS,
    RELATIONS,
    edge_rows,
    node_rows,
)
from rag_research.types import Triplet

FOUNDED = Relation(Triplet("Ilka", "founded", "Vellamy"), "chunk:p1")
BUILT = Relation(Triplet("Ilka", 'built & "ran"', "Vellamy"), "chunk:p1", "refined")
ODD = 'a "quote", <tag> & a \\ backslash\nnew line\x00\x1b \u2028 東京'


@pytest.fixture
def graph() -> HeterogeneousGraph:
    relations = {triplet_node_id(r): r for r in (FOUNDED, BUILT)}
    nodes = [Node("chunk:p1", "chunk", ODD)]
    nodes += [Node(id, "triplet", r.text) for id, r in relations.items()]
    nodes.append(Node("community:c", "community", "a summary"))
    vectors = np.eye(4, dtype=np.float32)
    entities = {"ilka": Entity("Ilka", "person", "physicist")}
    return HeterogeneousGraph(
        nodes, vectors, entities, relations, {"community:c": ["ilka", "vellamy"]}
    )


def test_the_tables(graph: HeterogeneousGraph) -> None:
    nodes, edges = list(node_rows(graph)), list(edge_rows(graph))
    assert [n["kind"] for n in nodes] == ["entity"] * 2 + ["chunk"] + ["triplet"] * 2 + [
        "community"
    ]
    counts = {name: sum(e["relation"] == name for e in edges) for name in RELATIONS}
    assert counts == {"OPENREL": 2, "SUBJECT": 2, "OBJECT": 2, "MENTIONEDIN": 2, "SUMMARYFOR": 2}
    ids = {n["id"] for n in nodes}
    assert {e[end] for e in edges for end in ("source", "target")} <= ids
    assert len(ids) == len(nodes)


def test_networkx_reads_the_graphml(graph: HeterogeneousGraph, tmp_path: Path) -> None:
    FORMATS["graphml"](graph, tmp_path)
    read = networkx.read_graphml(tmp_path / "graph.graphml")
    assert read.is_directed() and read.is_multigraph()
    assert set(read) == {row["id"] for row in node_rows(graph)}
    assert read.number_of_edges() == 10
    assert read.nodes["entity:ilka"] == {
        "kind": "entity",
        "name": "Ilka",
        "type": "person",
        "text": "physicist",
    }
    assert read.nodes["chunk:p1"]["text"] == ODD.replace("\x00\x1b", "")
    between = read.get_edge_data("entity:ilka", "entity:vellamy").values()
    assert {e["predicate"] for e in between} == {"founded", 'built & "ran"'}
    assert {e["relation"] for e in between} == {"OPENREL"}


def test_pyarrow_reads_the_parquet(graph: HeterogeneousGraph, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    FORMATS["parquet"](graph, tmp_path)
    nodes = parquet.read_table(tmp_path / "nodes.parquet").to_pylist()
    edges = parquet.read_table(tmp_path / "edges.parquet").to_pylist()
    assert [{k: v for k, v in n.items() if k != "vector"} for n in nodes] == list(node_rows(graph))
    assert edges == list(edge_rows(graph))
    assert nodes[0]["vector"] is None
    assert [n["vector"] for n in nodes[2:]] == graph.vectors.tolist()


def test_the_tables_for_neo4j_hold_everything(graph: HeterogeneousGraph, tmp_path: Path) -> None:
    FORMATS["neo4j"](graph, tmp_path)
    tables = {}
    for name in ("nodes", "relationships"):
        with (tmp_path / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        tables[name] = [{k: v.replace("\\\\", "\\") for k, v in row.items()} for row in rows]
    assert tables["nodes"] == list(node_rows(graph))
    assert tables["relationships"] == list(edge_rows(graph))
    script = (tmp_path / "load.cypher").read_text("utf-8")
    columns = {column for table in tables.values() for column in table[0]}
    assert set(re.findall(r"row\.(\w+)", script)) <= columns
    assert set(re.findall(r"row\.kind = '(\w+)'", script)) == {n["kind"] for n in tables["nodes"]}
    assert set(re.findall(r"row\.relation = '(\w+)'", script)) == set(RELATIONS)
    assert set(re.findall(r"file:///([\w.]+)", script)) == {"nodes.csv", "relationships.csv"}


@pytest.mark.parametrize("name", ["graphml", "neo4j"])
def test_writing_twice_gives_the_same_bytes(
    graph: HeterogeneousGraph, tmp_path: Path, name: str
) -> None:
    def written() -> dict[str, bytes]:
        FORMATS[name](graph, tmp_path)
        return {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    assert written() == written()
