"""BM25 over passages, then one call to the reader."""

from __future__ import annotations

from dataclasses import dataclass

from rag_research.corpus.corpus import Corpus
from rag_research.index.base import Retriever
from rag_research.index.bm25 import build_bm25
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.systems.passage_rag import PassageRAG, PassageRAGConfig


@dataclass(frozen=True, slots=True)
class BM25RAGConfig(PassageRAGConfig):
    """See :class:`PassageRAGConfig`."""

    name: str = "bm25_rag"


class BM25RAG(PassageRAG):
    """The lexical baseline."""

    Config = BM25RAGConfig

    def retriever(self, corpus: Corpus, store: ArtifactStore) -> Retriever:
        """BM25 over title and text."""
        return build_bm25("passages", corpus.ids, [p.contents for p in corpus], store)
