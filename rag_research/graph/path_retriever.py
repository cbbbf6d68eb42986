"""Retrieval along paths: candidates of the corpus graph, ranked by the learned selector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_research.corpus.corpus import Corpus
from rag_research.embed.token_store import QueryTokens, TokenStore
from rag_research.graph.corpus_arrays import Places
from rag_research.graph.corpus_graph import CorpusGraph, build_corpus_graph
from rag_research.graph.path_candidates import CandidateConfig, Lexical, find_candidates
from rag_research.graph.path_features import PathGraph, path_graph
from rag_research.graph.path_question import ask
from rag_research.graph.selector_checkpoint import SelectorCheckpoint
from rag_research.index.base import ranked
from rag_research.index.bm25 import build_bm25
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.types import Hit

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Ranked:
    """Scores of one query's candidates.

    Args:
        path: the candidate graph.
        passages: keep logits. [N]
        sentences: keep logits. [S]
    """

    path: PathGraph
    passages: Floats
    sentences: Floats


class CandidateGraphs:
    """Makes candidate graphs of queries; retrieval and training have theirs from here.

    Args:
        graph: of the corpus.
        lexical: BM25 over the same passages.
        reader: reads queries with the graph's encoder.
        config: how far candidates reach.
    """

    def __init__(
        self, graph: CorpusGraph, lexical: Lexical, reader: TokenStore, config: CandidateConfig
    ) -> None:
        self.graph = graph
        self.lexical = lexical
        self.reader = reader
        self.config = config

    def read(self, queries: Sequence[str]) -> list[QueryTokens]:
        """Encode queries."""
        return self.reader.query(list(queries)) if len(queries) else []

    def candidates(self, query: str, tokens: QueryTokens) -> PathGraph:
        """The candidate graph of a query."""
        asked = ask(self.graph, query, tokens)
        return path_graph(
            self.graph, asked, find_candidates(self.graph, self.lexical, asked, self.config)
        )


class PathRetriever(CandidateGraphs):
    """Ranks passages by the selector's keep logits.

    Args:
        graph: of the corpus.
        lexical: BM25 over the same passages.
        reader: reads queries with the graph's encoder.
        selector: the network and the settings of its candidates.
    """

    def __init__(
        self,
        graph: CorpusGraph,
        lexical: Lexical,
        reader: TokenStore,
        selector: SelectorCheckpoint,
    ) -> None:
        super().__init__(graph, lexical, reader, selector.candidates)
        self.selector = selector

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Rank for each query; see :class:`rag_research.index.base.Retriever`.

        There are never more hits than candidates.
        """
        if k <= 0 or not len(self.graph):
            return [[] for _ in queries]
        return [
            self.hits(self.rank(q, t), k) for q, t in zip(queries, self.read(queries), strict=True)
        ]

    def rank(self, query: str, tokens: QueryTokens) -> Ranked:
        """Score a query's candidates and their sentences."""
        import torch

        from rag_research.graph.path_data import network_input, path_data

        path = self.candidates(query, tokens)
        if not len(path.rows):
            return Ranked(path, np.empty(0, np.float32), np.empty(0, np.float32))
        with torch.inference_mode():
            selected = self.selector.network(network_input(path_data(path)))
        return Ranked(path, selected.passages.numpy(), selected.sentences.numpy())

    def hits(self, found: Ranked, k: int) -> list[Hit]:
        """The best ``k`` passages."""
        ids = self.graph.ids
        rows = found.path.rows.tolist()
        scores = zip(rows, found.passages.tolist(), strict=True)
        return ranked({ids[row]: score for row, score in scores}, k)


def build_candidate_graphs(
    corpus: Corpus,
    encoder: Any,
    store: ArtifactStore,
    config: CandidateConfig,
    places: Places | None = None,
) -> CandidateGraphs:
    """Build, or find in ``store``, everything candidates need. Costs no LLM token.

    Args:
        corpus: the passages.
        encoder: frozen, gives token states.
        store: keeps graph and indexes.
        config: how far candidates reach.
        places: see :func:`build_corpus_graph`.
    """
    graph = build_corpus_graph(corpus, encoder, store, places)
    texts = [passage.contents for passage in corpus]
    lexical = build_bm25("passages", corpus.ids, texts, store)
    reader = TokenStore(store.root, encoder, read_only=store.read_only)
    return CandidateGraphs(graph, lexical, reader, config)


def build_path_retriever(
    corpus: Corpus,
    encoder: Any,
    store: ArtifactStore,
    selector: SelectorCheckpoint,
    places: Places | None = None,
) -> PathRetriever:
    """:func:`build_candidate_graphs` with the network that ranks them.

    Args:
        corpus, encoder, store, places: see there.
        selector: see :func:`load_selector`.
    """
    made = build_candidate_graphs(corpus, encoder, store, selector.candidates, places)
    return PathRetriever(made.graph, made.lexical, made.reader, selector)
