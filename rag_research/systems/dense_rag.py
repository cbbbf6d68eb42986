"""Dense retrieval over passages, then one call to the reader."""

from __future__ import annotations

from dataclasses import dataclass

from rag_research.corpus.corpus import Corpus
from rag_research.index.base import Retriever
from rag_research.index.dense import build_dense
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.systems.passage_rag import PassageRAG, PassageRAGConfig


@dataclass(frozen=True, slots=True)
class DenseRAGConfig(PassageRAGConfig):
    """See :class:`PassageRAGConfig`."""

    name: str = "dense_rag"


class DenseRAG(PassageRAG):
    """The papers' "standard RAG"."""

    Config = DenseRAGConfig

    def retriever(self, corpus: Corpus, store: ArtifactStore) -> Retriever:
        """The encoder over title and text."""
        texts = [p.contents for p in corpus]
        parts = self.parts
        return build_dense(parts.dense, "passages", corpus.ids, texts, parts.encoder, store)
