"""The three kinds of edges of the topology graph, each able to grow, and their null object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from rag_research.embed.base import Vectors
from rag_research.graph.lexical_join import JaccardJoin, Pairs
from rag_research.graph.nearest import NOTHING, nearest_neighbours
from rag_research.graph.nodes import SemanticNode


class EdgeKind(Protocol):
    """Edges of one kind over a list of nodes that grows at its end."""

    def add(self, nodes: Sequence[SemanticNode], vectors: Vectors, start: int) -> None:
        """Connect the nodes from ``start`` on with each other and with those before.

        Args:
            nodes: all N nodes.
            vectors: their unit vectors, [N, D].
            start: number of the first new node.
        """
        ...

    def pairs(self) -> Pairs:
        """Every connected pair once, with its value."""
        ...


class NoEdges:
    """The null object: connects nothing."""

    def add(self, nodes: Sequence[SemanticNode], vectors: Vectors, start: int) -> None:
        """Do nothing."""

    def pairs(self) -> Pairs:
        """No pairs."""
        return Pairs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


class NarrativeEdges:
    """Consecutive spans of one document, value 1.

    Spans of different documents are never joined for standing next to each other in a file.
    """

    def __init__(self) -> None:
        self._number: dict[tuple[str, int], int] = {}
        self._pairs: list[tuple[int, int]] = []

    def add(self, nodes: Sequence[SemanticNode], vectors: Vectors, start: int) -> None:
        """Look for the spans before and after each new one."""
        for number in range(start, len(nodes)):
            document, position = nodes[number].span.document_id, nodes[number].position
            self._number[document, position] = number
            for beside in (position - 1, position + 1):
                if (document, beside) in self._number:
                    self._pairs.append((self._number[document, beside], number))

    def pairs(self) -> Pairs:
        """See the class."""
        ends = np.array(self._pairs, np.int64).reshape(-1, 2)
        return Pairs(ends[:, 0], ends[:, 1], np.ones(len(ends)))


class SemanticEdges:
    """Nearest spans of other documents, value their cosine; one side's choice is enough.

    Args:
        neighbours: nearest spans of each span.
        cosine: least cosine.
    """

    def __init__(self, neighbours: int, cosine: float) -> None:
        self.neighbours, self.cosine = neighbours, cosine
        self._nearest = NOTHING

    def add(self, nodes: Sequence[SemanticNode], vectors: Vectors, start: int) -> None:
        """Compare the new spans with all; a new one may push an old one out of a list."""
        keys = [node.key for node in nodes]
        rank = np.empty(len(keys), np.int64)
        rank[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
        code = {name: number for number, name in enumerate(dict.fromkeys(k[0] for k in keys))}
        documents = np.array([code[key[0]] for key in keys], np.int64)
        self._nearest = nearest_neighbours(
            vectors, documents, rank, self.neighbours, self.cosine, self._nearest, start
        )

    def pairs(self) -> Pairs:
        """See the class."""
        source, target, cosine = self._nearest
        first, second = np.minimum(source, target), np.maximum(source, target)
        size = int(second.max()) + 1 if len(second) else 1
        _, once = np.unique(first * size + second, return_index=True)
        return Pairs(first[once], second[once], cosine[once])


class LexicalEdges:
    """Spans that share entities, value the Jaccard similarity of their entity sets.

    Args:
        jaccard: least similarity.
    """

    def __init__(self, jaccard: float) -> None:
        self._join = JaccardJoin(jaccard)
        self._found: list[Pairs] = []

    def add(self, nodes: Sequence[SemanticNode], vectors: Vectors, start: int) -> None:
        """Meet those that share an entity with a new span."""
        self._found.append(self._join.add([node.entities for node in nodes[start:]]))

    def pairs(self) -> Pairs:
        """See the class."""
        if not self._found:
            return NoEdges().pairs()
        return Pairs(*(np.concatenate(column) for column in zip(*self._found, strict=True)))
