"""Three ways to find the nodes of a chunk-triplet-community graph that a query needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from rag_research.corpus.corpus import Corpus
from rag_research.embed.base import Encoder
from rag_research.graph.heterogeneous import HeterogeneousGraph
from rag_research.graph.path_retriever import build_path_retriever
from rag_research.graph.selector_checkpoint import load_selector
from rag_research.graph.subgraph import NEAR
from rag_research.index.base import Retriever, ranked
from rag_research.index.selection import DECIMALS
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.types import Hit, Passage

Vector = NDArray[np.float32]


class NodesByVector:
    """Nodes of all three types by cosine alone.

    Args:
        graph: its nodes compete in one list.
        encoder: the one the nodes were embedded with.
    """

    def __init__(self, graph: HeterogeneousGraph, encoder: Encoder) -> None:
        self.graph = graph
        self.encoder = encoder

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Rank for each query; see :class:`rag_research.index.base.Retriever`."""
        if not queries or not len(self.graph):
            return [[] for _ in queries]
        vectors = self.encoder.encode(queries, "query")
        lists = self.graph.search(vectors, k)
        return [self.chosen(v, hits, k) for v, hits in zip(vectors, lists, strict=True)]

    def chosen(self, query: Vector, hits: list[Hit], k: int) -> list[Hit]:
        """The hits as they are."""
        return hits


class NodesByHybrid(NodesByVector):
    """The best nodes by cosine and what is one edge away from them, cut back to k.

    ``score(n) = max(cos(q, n), 0.5 cos(q, s))`` for a neighbour n of a node s found by cosine.

    Args:
        graph, encoder: see :class:`NodesByVector`.

    Source: ToG-3 (arXiv 2509.21710), hybrid retrieval; the paper gives no formula, this is ours.
    """

    def chosen(self, query: Vector, hits: list[Hit], k: int) -> list[Hit]:
        """The hits and their neighbours, the best k of them."""
        scores = {hit.id: hit.score for hit in hits}
        for hit in hits:
            for id in self.graph.neighbours(hit.id):
                if id not in scores:
                    scores[id] = self._own(query, id)
                if hit.score > 0:  # half of a negative cosine would be a rise
                    scores[id] = max(scores[id], NEAR * hit.score)
        return ranked(scores, k)

    def _own(self, query: Vector, id: str) -> float:
        return round(float(self.graph.vectors[self.graph.row(id)] @ query), DECIMALS)


def by_hybrid(
    graph: HeterogeneousGraph, corpus: Corpus, encoder: Encoder, store: ArtifactStore, name: str
) -> Retriever:
    """The paper's: vectors, then one hop along the edges."""
    return NodesByHybrid(graph, encoder)


def by_vector(
    graph: HeterogeneousGraph, corpus: Corpus, encoder: Encoder, store: ArtifactStore, name: str
) -> Retriever:
    """Vectors alone."""
    return NodesByVector(graph, encoder)


def by_paths(
    graph: HeterogeneousGraph, corpus: Corpus, encoder: Encoder, store: ArtifactStore, name: str
) -> Retriever:
    """Chunks that the learned path selector ranks, in place of nodes of all types.

    Args:
        graph: gives the chunks.
        corpus: gives their titles and documents.
        encoder: one that shows its tokens.
        store: keeps the graph of the chunks.
        name: released network or the path of one.
    """
    passages, at = [], defaultdict(list)
    documents = {id: number for number, id in enumerate(corpus.ids)}
    for node in graph.of_kind("chunk"):
        (owner,) = graph.passages(node.id)
        title = corpus[owner].title
        head = f"{title}\n" if title and node.text.startswith(f"{title}\n") else ""
        body = node.text.removeprefix(head)
        passages.append(Passage(node.id, title, body))
        at[documents[owner]].append((max(corpus[owner].text.find(body), 0), node.id))
    places = {
        id: (document, position)
        for document, starts in at.items()
        for position, (_, id) in enumerate(sorted(starts))
    }
    return build_path_retriever(Corpus(passages), encoder, store, load_selector(name), places)


NODE_RETRIEVALS: dict[
    str, Callable[[HeterogeneousGraph, Corpus, Encoder, ArtifactStore, str], Retriever]
] = {"hybrid": by_hybrid, "vector": by_vector, "paths": by_paths}
