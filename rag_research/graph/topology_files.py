"""Graphs as files: kept, or brought along.

A folder holds three files. ``spans.jsonl`` has one span a line:

    {"document": "d1", "start": 0, "end": 41, "text": "...", "position": 0,
     "title": "...", "entities": ["elin marrow"]}

``position`` counts the spans of a document from 0 and may be left out, then it follows from
the offsets; ``title`` and ``entities`` may be left out too. ``edges.jsonl`` has one undirected
edge a line; ends are line numbers of ``spans.jsonl`` from 0, absent values are 0:

    {"source": 0, "target": 1, "narrative": 1.0, "semantic": 0.71, "lexical": 0.4}

``vectors.npy`` has the unit vector of each span, [N, D] float32; where it is missing, the
reader encodes the spans.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rag_research.embed.base import Encoder, Vectors
from rag_research.errors import DataError
from rag_research.graph.nodes import SemanticNode
from rag_research.graph.topology import Data, TopologyConfig, graph_data
from rag_research.graph.weights import KINDS
from rag_research.types import Span

SPANS, EDGES, VECTORS = "spans.jsonl", "edges.jsonl", "vectors.npy"


def save_graph(graph: Data, folder: Path | str) -> None:
    """Write a graph of :meth:`Topology.data` to ``folder``, which is created when missing."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    spans = (
        {
            "document": node.span.document_id,
            "start": node.span.start,
            "end": node.span.end,
            "text": node.span.text,
            "position": node.position,
            "title": node.title,
            "entities": sorted(node.entities),
        }
        for node in graph.nodes
    )
    _write(folder / SPANS, spans)
    edges = zip(graph.edge_index.t().tolist(), graph.edge_attr.tolist(), strict=True)
    rows = (
        {"source": a, "target": b, **dict(zip(KINDS, values, strict=True))}
        for (a, b), values in edges
        if a < b
    )
    _write(folder / EDGES, rows)
    np.save(folder / VECTORS, graph.x.numpy())


def load_graph(
    folder: Path | str, config: TopologyConfig | None = None, encoder: Encoder | None = None
) -> Data:
    """Read a graph that :func:`save_graph` or someone else wrote.

    Args:
        folder: see the module's docstring.
        config: its formula and constants give the weights; edges are taken as they are.
        encoder: makes vectors where the folder has none.

    Raises:
        DataError: names file and line of what cannot be used.
    """
    folder = Path(folder)
    nodes = _nodes(folder / SPANS)
    order = sorted(range(len(nodes)), key=lambda n: nodes[n].key)
    for one, other in itertools.pairwise(order):
        if nodes[one].key == nodes[other].key:
            raise DataError(
                f"{folder / SPANS}, lines {one + 1} and {other + 1} are the same span "
                f"{nodes[one].key}. Keep one of them."
            )
    place = np.empty(len(nodes), np.int64)
    place[order] = np.arange(len(nodes))
    ends, values = _edges(folder / EDGES, len(nodes))
    ends = np.sort(place[ends], axis=1)
    rows = np.lexsort((ends[:, 1], ends[:, 0]))
    ends, values = ends[rows], values[rows]
    repeated = np.flatnonzero((ends[1:] == ends[:-1]).all(axis=1))
    if repeated.size:
        a, b = (order[n] for n in ends[repeated[0]])
        raise DataError(f"{folder / EDGES}: the edge between spans {a} and {b} occurs twice.")
    vectors = _vectors(folder / VECTORS, nodes, encoder)
    ordered = [nodes[n] for n in order]
    return graph_data(
        ordered, vectors[order], (ends[:, 0], ends[:, 1]), values, config or TopologyConfig()
    )


def _nodes(path: Path) -> list[SemanticNode]:
    nodes: list[SemanticNode] = []
    for where, row in _rows(path):
        try:
            span = Span(str(row["document"]), int(row["start"]), int(row["end"]), str(row["text"]))
            position = int(row.get("position", -1))
            entities = frozenset(map(str, row.get("entities", ())))
            nodes.append(SemanticNode(span, position, str(row.get("title", "")), entities))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"{where}: expected document, start, end and text of a span, got {row} ({error!r})."
            ) from error
        if len(span.text) != span.end - span.start:
            raise DataError(
                f"{where}: the text has {len(span.text)} characters, start {span.start} and end "
                f"{span.end} ask for {span.end - span.start}."
            )
    return _with_positions(nodes)


def _with_positions(nodes: Sequence[SemanticNode]) -> list[SemanticNode]:
    """Number the spans of each document by offset where the file does not."""
    if all(node.position >= 0 for node in nodes):
        return list(nodes)
    seen: dict[str, int] = {}
    numbered = list(nodes)
    for n in sorted(range(len(nodes)), key=lambda n: nodes[n].key):
        node = nodes[n]
        position = seen.get(node.span.document_id, 0)
        seen[node.span.document_id] = position + 1
        numbered[n] = SemanticNode(node.span, position, node.title, node.entities)
    return numbered


def _edges(path: Path, size: int) -> tuple[Any, Any]:
    ends: list[tuple[int, int]] = []
    values: list[list[float]] = []
    for where, row in _rows(path):
        try:
            pair = int(row["source"]), int(row["target"])
            weights = [float(row.get(kind, 0.0)) for kind in KINDS]
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"{where}: expected source, target and {', '.join(KINDS)}, got {row} ({error!r})."
            ) from error
        if pair[0] == pair[1] or not all(0 <= end < size for end in pair):
            raise DataError(
                f"{where}: got the ends {pair}, expected two different line numbers of "
                f"{SPANS}, 0 to {size - 1}."
            )
        if not all(0 <= value < float("inf") for value in weights):
            raise DataError(f"{where}: got the values {weights}, expected finite, >= 0.")
        ends.append(pair)
        values.append(weights)
    return np.array(ends, np.int64).reshape(-1, 2), np.array(values).reshape(-1, len(KINDS))


def _vectors(path: Path, nodes: Sequence[SemanticNode], encoder: Encoder | None) -> Vectors:
    if path.is_file():
        vectors: Vectors = np.load(path)
    elif encoder is not None:
        vectors = encoder.encode([node.span.text for node in nodes], "passage")
    else:
        raise DataError(f"There is no {path}. Add it, or pass an encoder to make the vectors.")
    if vectors.ndim != 2 or len(vectors) != len(nodes):
        raise DataError(f"{path}: got shape {vectors.shape}, expected [{len(nodes)}, D].")
    return vectors


def _write(path: Path, rows: Iterator[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if not path.is_file():
        raise DataError(f"There is no {path}. A graph folder has {SPANS} and {EDGES}.")
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            where = f"{path}, line {number}"
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise DataError(f"{where}: not JSON ({error}): {line[:60]!r}.") from error
            if not isinstance(row, dict):
                raise DataError(f"{where}: expected a JSON object, got {line[:60]!r}.")
            yield where, row
