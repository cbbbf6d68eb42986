"""The Semantic Topology Graph: spans joined by reading order, likeness and shared entities.

Source: ThreadRAG. The paper names the three kinds of edges, their thresholds and constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rag_research.embed.base import Vectors
from rag_research.errors import DataError, missing_extra
from rag_research.graph.edges import (
    EdgeKind,
    LexicalEdges,
    NarrativeEdges,
    NoEdges,
    SemanticEdges,
)
from rag_research.graph.nodes import SemanticNode
from rag_research.graph.weights import KINDS, WEIGHTS, Weights, merge

Data = Any  # torch_geometric.data.Data


@dataclass(frozen=True, slots=True)
class TopologyConfig:
    """How spans are connected.

    Args:
        narrative: join consecutive spans of one document, or not.
        semantic: join each span with its nearest ones in other documents, or not.
        lexical: join spans that share entities, or not.
        neighbours: nearest spans of each span (5).
        cosine: least cosine of a semantic edge (0.5).
        jaccard: least Jaccard similarity of the entity sets of a lexical edge (0.3).
        weights: how the three values of an edge become its weight.
        alpha: share of semantic edges (0.35).
        beta: share of lexical edges (0.65).
        gamma: share of the reading order (0.3).
    """

    narrative: Literal["consecutive", "none"] = "consecutive"
    semantic: Literal["nearest", "none"] = "nearest"
    lexical: Literal["jaccard", "none"] = "jaccard"
    neighbours: int = 5
    cosine: float = 0.5
    jaccard: float = 0.3
    weights: Weights = "published"
    alpha: float = 0.35
    beta: float = 0.65
    gamma: float = 0.3

    def __post_init__(self) -> None:
        if self.neighbours < 1 or not 0 < self.jaccard <= 1:
            raise ValueError(
                f"needs neighbours >= 1 and jaccard in (0, 1], got {self.neighbours} and "
                f"{self.jaccard}"
            )
        if min(self.alpha, self.beta, self.gamma, self.cosine) < 0 or self.gamma > 1:
            raise ValueError(
                f"needs alpha, beta, cosine >= 0 and gamma in [0, 1], got {self.alpha}, "
                f"{self.beta}, {self.cosine} and {self.gamma}"
            )

    def edge_kinds(self) -> tuple[EdgeKind, ...]:
        """A fresh object for each kind, in the order of :data:`KINDS`."""
        on: tuple[EdgeKind, ...] = (
            NarrativeEdges(),
            SemanticEdges(self.neighbours, self.cosine),
            LexicalEdges(self.jaccard),
        )
        choices = (self.narrative, self.semantic, self.lexical)
        return tuple(
            NoEdges() if choice == "none" else kind
            for kind, choice in zip(on, choices, strict=True)
        )


class Topology:
    """A graph that grows: added spans are compared with all, old ones not again with old ones.

    The graph depends neither on the order in which spans came, nor on how many came at once.

    Args:
        config: see :class:`TopologyConfig`.
    """

    def __init__(self, config: TopologyConfig | None = None) -> None:
        self.config = config or TopologyConfig()
        self.nodes: list[SemanticNode] = []
        self._keys: set[tuple[str, int, int]] = set()
        self._vectors: Vectors = np.empty((0, 0), np.float32)
        self._kinds = self.config.edge_kinds()

    def __len__(self) -> int:
        return len(self.nodes)

    def add(self, nodes: Sequence[SemanticNode], vectors: Vectors) -> int:
        """Take in spans; those that are there already are passed over.

        Args:
            nodes: M spans.
            vectors: their unit vectors.

        Returns:
            How many spans were new.

        Raises:
            DataError: another number of vectors than of spans, or of another dimension.

        Shapes:
            vectors [M, D]
        """
        start, rows = len(self.nodes), []
        expected = (len(nodes), self._vectors.shape[1] if start else vectors.shape[-1])
        if vectors.shape != expected:
            raise DataError(f"vectors: got shape {vectors.shape}, expected {expected}, one a span.")
        for row, node in enumerate(nodes):
            if node.key not in self._keys:
                self._keys.add(node.key)
                self.nodes.append(node)
                rows.append(row)
        if rows:
            fresh = np.asarray(vectors, np.float32)[rows]
            self._vectors = np.concatenate([self._vectors, fresh]) if start else fresh
            for kind in self._kinds:
                kind.add(self.nodes, self._vectors, start)
        return len(rows)

    def data(self) -> Data:
        """The graph as PyTorch Geometric ``Data``, nodes sorted by document and offset.

        Returns:
            See :func:`graph_data`.

        Raises:
            MissingExtraError: PyTorch Geometric is not installed.
        """
        keys = [node.key for node in self.nodes]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        first, second, values = merge([kind.pairs() for kind in self._kinds], place)
        nodes = [self.nodes[number] for number in order]
        return graph_data(nodes, self._vectors[order], (first, second), values, self.config)


def graph_data(
    nodes: Sequence[SemanticNode],
    vectors: Vectors,
    ends: tuple[Any, Any],
    values: Any,
    config: TopologyConfig,
) -> Data:
    """Nodes and undirected edges as PyTorch Geometric ``Data``.

    Edges of weight 0 under ``config`` are left out.

    Args:
        nodes: N spans.
        vectors: [N, D].
        ends: lower and higher number of each edge, each [E].
        values: narrative, semantic and lexical value of each edge, [E, 3].
        config: its formula and constants give the weights.

    Returns:
        ``x`` [N, D] float32; ``edge_index`` [2, 2E] with both directions of every edge, sorted;
        ``edge_attr`` [2E, 3] and ``edge_weight`` [2E] in float64; ``nodes``, the tuple of spans.

    Raises:
        MissingExtraError: PyTorch Geometric is not installed.
    """
    try:
        from torch_geometric.data import Data as GraphData
    except ImportError as error:
        raise missing_extra("torch_geometric", "graph", "The topology graph") from error
    import torch

    first, second = ends
    weight = WEIGHTS[config.weights](values, config.alpha, config.beta, config.gamma)
    live = weight > 0
    source = np.concatenate([first[live], second[live]])
    target = np.concatenate([second[live], first[live]])
    order = np.lexsort((target, source))
    twice = np.concatenate([np.flatnonzero(live)] * 2)[order]
    graph = GraphData(
        x=torch.from_numpy(np.array(vectors, np.float32)),
        edge_index=torch.from_numpy(np.stack([source[order], target[order]])),
        edge_attr=torch.from_numpy(values[twice]),
        edge_weight=torch.from_numpy(weight[twice]),
    )
    graph.num_nodes = len(nodes)
    graph.nodes = tuple(nodes)
    return graph


def edge_counts(graph: Data) -> dict[str, int]:
    """Undirected edges of each kind and in all; one edge may be of several kinds."""
    counted = (graph.edge_attr > 0).sum(dim=0) // 2
    kinds = {name: int(count) for name, count in zip(KINDS, counted, strict=True)}
    return {**kinds, "all": graph.edge_index.shape[1] // 2}


def drawing(nodes: Sequence[SemanticNode], added: int, graph: Data) -> dict[str, Any]:
    """What is needed to draw the graph, as a trace keeps it.

    Args:
        nodes: all spans in the order in which they came, as in :attr:`Topology.nodes`.
        added: how many of the last of them came in this round.
        graph: from :meth:`Topology.data`.

    Returns:
        ``spans``: document, start, end and text of each span that was added; ``links``: of each
        undirected edge the numbers of its spans in ``nodes``, its weight, and its narrative,
        semantic and lexical values.
    """
    number = {node.key: n for n, node in enumerate(nodes)}
    links = []
    for (a, b), weight, values in zip(
        graph.edge_index.t().tolist(),
        graph.edge_weight.tolist(),
        graph.edge_attr.tolist(),
        strict=True,
    ):
        if a < b:
            ends = sorted((number[graph.nodes[a].key], number[graph.nodes[b].key]))
            links.append([*ends, round(weight, 4), *(round(v, 4) for v in values)])
    fresh = nodes[len(nodes) - added :]
    return {"spans": [[*node.key, node.span.text] for node in fresh], "links": links}
