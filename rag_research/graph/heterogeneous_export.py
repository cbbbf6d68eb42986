"""The chunk-triplet-community graph for other programs: GraphML, parquet, Neo4j.

Every format holds the same two tables. Nodes are entities, chunks, triplets and communities;
edges are OPENREL (subject to object, with the predicate), SUBJECT and OBJECT (triplet to
entity), MENTIONEDIN (triplet to chunk) and SUMMARYFOR (community to entity).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from xml.sax.saxutils import XMLGenerator
from xml.sax.xmlreader import AttributesImpl

from rag_research.errors import missing_extra
from rag_research.graph.heterogeneous import HeterogeneousGraph
from rag_research.text.entities import entity_key

NODE_FIELDS = ("id", "kind", "name", "type", "text", "origin")
EDGE_FIELDS = ("source", "target", "relation", "predicate", "triplet")
LABELS = {"entity": "Entity", "chunk": "Chunk", "triplet": "Triplet", "community": "Community"}
RELATIONS = ("OPENREL", "SUBJECT", "OBJECT", "MENTIONEDIN", "SUMMARYFOR")
_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PIECE = 10_000  # rows a transaction or a row group

Row = Mapping[str, str]


def node_rows(graph: HeterogeneousGraph) -> Iterator[Row]:
    """Entities by key, then the graph's own nodes in order; every field is a string."""
    for key, e in graph.entities.items():
        yield _node(f"entity:{key}", "entity", e.name, e.type, e.description)
    for node in graph.nodes:
        origin = graph.relations[node.id].origin if node.kind == "triplet" else ""
        yield _node(node.id, node.kind, "", "", node.text, origin)


def edge_rows(graph: HeterogeneousGraph) -> Iterator[Row]:
    """Edges of the triplets in order, then those of the communities."""
    for id, relation in graph.relations.items():
        triplet = relation.triplet
        subject = f"entity:{entity_key(triplet.subject)}"
        object_ = f"entity:{entity_key(triplet.object)}"
        yield _edge(subject, object_, "OPENREL", triplet.predicate, id)
        yield _edge(id, subject, "SUBJECT")
        yield _edge(id, object_, "OBJECT")
        if relation.chunk in graph:
            yield _edge(id, relation.chunk, "MENTIONEDIN")
    for id, members in graph.members.items():
        for key in members:
            yield _edge(id, f"entity:{key}", "SUMMARYFOR")


def write_graphml(graph: HeterogeneousGraph, directory: Path) -> None:
    """``graph.graphml``: a directed graph whose fields are string attributes.

    Characters that XML cannot hold are left out.
    """
    with (directory / "graph.graphml").open("w", encoding="utf-8") as file:
        xml = XMLGenerator(file, "utf-8", short_empty_elements=True)
        xml.startDocument()
        _open(xml, "graphml", xmlns="http://graphml.graphdrawing.org/xmlns")
        for domain, names in (("node", NODE_FIELDS[1:]), ("edge", EDGE_FIELDS[2:])):
            for name in names:
                key = {"id": f"{domain}_{name}", "for": domain, "attr.name": name}
                _open(xml, "key", **key, **{"attr.type": "string"})
                xml.endElement("key")
        _open(xml, "graph", id="G", edgedefault="directed")
        for row in node_rows(graph):
            _element(xml, "node", {"id": row["id"]}, row, NODE_FIELDS[1:])
        for number, row in enumerate(edge_rows(graph)):
            ends = {"id": f"e{number}", "source": row["source"], "target": row["target"]}
            _element(xml, "edge", ends, row, EDGE_FIELDS[2:])
        xml.endElement("graph")
        xml.endElement("graphml")
        xml.endDocument()


def write_parquet(graph: HeterogeneousGraph, directory: Path) -> None:
    """``nodes.parquet`` with the column ``vector`` (null for entities), and ``edges.parquet``.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise missing_extra("pyarrow", "parquet", "The format parquet") from error
    nodes, edges = list(node_rows(graph)), list(edge_rows(graph))
    text = pyarrow.string()
    columns = {f: pyarrow.array([row[f] for row in nodes], text) for f in NODE_FIELDS}
    vectors = [graph.vectors[graph.row(r["id"])] if r["id"] in graph else None for r in nodes]
    columns["vector"] = pyarrow.array(vectors, pyarrow.list_(pyarrow.float32()))
    pyarrow.parquet.write_table(pyarrow.table(columns), directory / "nodes.parquet")
    columns = {f: pyarrow.array([row[f] for row in edges], text) for f in EDGE_FIELDS}
    pyarrow.parquet.write_table(pyarrow.table(columns), directory / "edges.parquet")


def write_neo4j(graph: HeterogeneousGraph, directory: Path) -> None:
    """``nodes.csv``, ``relationships.csv`` and ``load.cypher``, which loads both.

    No driver is needed: put the two tables into the server's import folder and run the script
    with ``cypher-shell -f load.cypher`` (Neo4j 5.23 or later). Loading twice changes nothing.
    """
    _write_csv(directory / "nodes.csv", NODE_FIELDS, node_rows(graph))
    _write_csv(directory / "relationships.csv", EDGE_FIELDS, edge_rows(graph))
    statements = [
        "CREATE CONSTRAINT node_id IF NOT EXISTS FOR (n:Node) REQUIRE n.id IS UNIQUE;",
        *(_load_nodes(kind, label) for kind, label in LABELS.items()),
        *map(_load_edges, RELATIONS),
    ]
    (directory / "load.cypher").write_text("\n\n".join(statements) + "\n", encoding="utf-8")


FORMATS: Mapping[str, Callable[[HeterogeneousGraph, Path], None]] = {
    "graphml": write_graphml,
    "parquet": write_parquet,
    "neo4j": write_neo4j,
}


def _node(id: str, kind: str, name: str, type: str, text: str, origin: str = "") -> Row:
    return dict(zip(NODE_FIELDS, (id, kind, name, type, text, origin), strict=True))


def _edge(source: str, target: str, relation: str, predicate: str = "", triplet: str = "") -> Row:
    return dict(zip(EDGE_FIELDS, (source, target, relation, predicate, triplet), strict=True))


def _open(xml: XMLGenerator, element: str, **attributes: str) -> None:
    xml.startElement(
        element, AttributesImpl({k: _NOT_XML.sub("", v) for k, v in attributes.items()})
    )


def _element(
    xml: XMLGenerator, name: str, attributes: Mapping[str, str], row: Row, fields: Iterable[str]
) -> None:
    _open(xml, name, **attributes)
    for field in fields:
        if row[field]:
            _open(xml, "data", key=f"{name}_{field}")
            xml.characters(_NOT_XML.sub("", row[field]))
            xml.endElement("data")
    xml.endElement(name)
    xml.characters("\n")


def _write_csv(path: Path, fields: Iterable[str], rows: Iterable[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(fields), quoting=csv.QUOTE_ALL)
        writer.writeheader()
        # Cypher takes a backslash in a quoted field for an escape.
        writer.writerows({k: v.replace("\\", "\\\\") for k, v in row.items()} for row in rows)


def _load_nodes(kind: str, label: str) -> str:
    settings = ", ".join(f"n.{field} = row.{field}" for field in NODE_FIELDS[2:])
    return (
        "LOAD CSV WITH HEADERS FROM 'file:///nodes.csv' AS row\n"
        f"WITH row WHERE row.kind = '{kind}'\n"
        f"CALL (row) {{ MERGE (n:Node {{id: row.id}}) SET n:{label}, {settings} }}\n"
        f"IN TRANSACTIONS OF {_PIECE} ROWS;"
    )


def _load_edges(relation: str) -> str:
    return (
        "LOAD CSV WITH HEADERS FROM 'file:///relationships.csv' AS row\n"
        f"WITH row WHERE row.relation = '{relation}'\n"
        "CALL (row) { MATCH (a:Node {id: row.source}), (b:Node {id: row.target})\n"
        f"MERGE (a)-[r:{relation} {{predicate: row.predicate, triplet: row.triplet}}]->(b) }}\n"
        f"IN TRANSACTIONS OF {_PIECE} ROWS;"
    )
