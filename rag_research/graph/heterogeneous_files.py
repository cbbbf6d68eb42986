"""The chunk-triplet-community graph in files: readable texts, and tensors as PyG lays them out.

::

    chunks.jsonl       {"id", "passage", "text"}
    entities.jsonl     {"key", "name", "type", "description"}
    triplets.jsonl     {"id", "subject", "predicate", "object", "chunk", "origin"}
    communities.jsonl  {"id", "summary", "members": [entity keys]}
    hetero.pt          the mapping that HeteroData.from_dict reads: plain tensors only

Rows of the tensors are in the order of the files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rag_research.errors import ArtifactError, missing_extra
from rag_research.graph.heterogeneous import (
    HUB_LIMIT,
    KINDS,
    Entity,
    HeterogeneousGraph,
    Node,
    Relation,
)
from rag_research.text.entities import entity_key
from rag_research.types import Triplet

TENSORS = "hetero.pt"


def save_graph(graph: HeterogeneousGraph, directory: Path) -> None:
    """Write a graph; the same graph gives the same lines."""
    import torch

    for name, rows in _tables(graph).items():
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        with (directory / f"{name}.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(lines)
    torch.save(hetero_tensors(graph), directory / TENSORS)


def load_graph(directory: Path, hub_limit: int = HUB_LIMIT) -> HeterogeneousGraph:
    """Read a graph that :func:`save_graph` wrote; its vectors are compared one by one.

    Raises:
        ArtifactError: a file is missing or the files do not fit together.
    """
    import torch

    if not (directory / TENSORS).is_file():
        raise ArtifactError(f"{directory} holds no graph (no {TENSORS}).")
    tensors = torch.load(directory / TENSORS, weights_only=True)
    chunks = _read(directory / "chunks.jsonl")
    communities = _read(directory / "communities.jsonl")
    relations = {
        row["id"]: Relation(
            Triplet(row["subject"], row["predicate"], row["object"]), row["chunk"], row["origin"]
        )
        for row in _read(directory / "triplets.jsonl")
    }
    nodes = [Node(row["id"], "chunk", row["text"]) for row in chunks]
    nodes += [Node(id, "triplet", relation.text) for id, relation in relations.items()]
    nodes += [Node(row["id"], "community", row["summary"]) for row in communities]
    vectors = np.concatenate([tensors[kind]["x"].numpy() for kind in KINDS])
    if len(vectors) != len(nodes):
        raise ArtifactError(
            f"{directory} holds texts of {len(nodes)} nodes and vectors of {len(vectors)}. "
            "Delete it and build again."
        )
    return HeterogeneousGraph(
        nodes,
        vectors,
        {
            row["key"]: Entity(row["name"], row["type"], row["description"])
            for row in _read(directory / "entities.jsonl")
        },
        relations,
        {row["id"]: row["members"] for row in communities},
        {row["id"]: row["passage"] for row in chunks},
        hub_limit=hub_limit,
    )


def hetero_tensors(graph: HeterogeneousGraph) -> dict[Any, dict[str, Any]]:
    """Node and edge stores by type, as ``HeteroData.from_dict`` takes them.

    Returns:
        ``chunk``, ``triplet``, ``community``: ``x`` [N, D]; ``entity``: ``num_nodes``;
        (triplet, subject, entity), (triplet, object, entity), (triplet, mentionedin, chunk),
        (community, summaryfor, entity): ``edge_index`` [2, E]; (entity, openrel, entity):
        ``edge_index`` [2, T] and ``triplet`` [T], the row of the triplet behind each edge.
    """
    import torch

    place = {node.id: row for kind in KINDS for row, node in enumerate(graph.of_kind(kind))}
    number = {key: row for row, key in enumerate(graph.entities)}
    ends = [
        (place[id], number[entity_key(r.triplet.subject)], number[entity_key(r.triplet.object)])
        for id, r in graph.relations.items()
    ]

    def edges(pairs: Iterable[tuple[int, int]]) -> dict[str, Any]:
        return {"edge_index": torch.tensor(list(pairs), dtype=torch.long).reshape(-1, 2).T}

    stores: dict[Any, dict[str, Any]] = {}
    for kind in KINDS:
        rows = [graph.row(node.id) for node in graph.of_kind(kind)]
        stores[kind] = {"x": torch.from_numpy(np.array(graph.vectors[rows]))}
    stores["entity"] = {"num_nodes": len(number)}
    stores["triplet", "subject", "entity"] = edges((row, subject) for row, subject, _ in ends)
    stores["triplet", "object", "entity"] = edges((row, object_) for row, _, object_ in ends)
    stores["triplet", "mentionedin", "chunk"] = edges(
        (place[id], place[r.chunk]) for id, r in graph.relations.items() if r.chunk in place
    )
    stores["community", "summaryfor", "entity"] = edges(
        (place[id], number[key]) for id, keys in graph.members.items() for key in keys
    )
    stores["entity", "openrel", "entity"] = {
        **edges((subject, object_) for _, subject, object_ in ends),
        "triplet": torch.tensor([row for row, _, _ in ends], dtype=torch.long),
    }
    return stores


def hetero_data(graph: HeterogeneousGraph) -> Any:
    """The graph as ``torch_geometric.data.HeteroData``.

    Raises:
        MissingExtraError: PyTorch Geometric is not installed.
    """
    try:
        from torch_geometric.data import HeteroData
    except ImportError as error:
        raise missing_extra("torch_geometric", "graph", "HeteroData") from error
    return HeteroData.from_dict(hetero_tensors(graph))


def _tables(graph: HeterogeneousGraph) -> Mapping[str, Iterable[Mapping[str, Any]]]:
    return {
        "chunks": (
            {"id": node.id, "passage": graph.passages(node.id)[0], "text": node.text}
            for node in graph.of_kind("chunk")
        ),
        "entities": (
            {"key": key, "name": e.name, "type": e.type, "description": e.description}
            for key, e in graph.entities.items()
        ),
        "triplets": (
            {
                "id": id,
                "subject": r.triplet.subject,
                "predicate": r.triplet.predicate,
                "object": r.triplet.object,
                "chunk": r.chunk,
                "origin": r.origin,
            }
            for id, r in graph.relations.items()
        ),
        "communities": (
            {"id": node.id, "summary": node.text, "members": graph.members[node.id]}
            for node in graph.of_kind("community")
        ),
    }


def _read(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        raise ArtifactError(f"{path} is missing. Delete {path.parent} and build again.")
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]
