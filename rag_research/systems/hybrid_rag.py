"""Lexical and dense retrieval, fused, then one call to the reader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rag_research.corpus.corpus import Corpus
from rag_research.index.base import Retriever
from rag_research.index.bm25 import build_bm25
from rag_research.index.dense import build_dense
from rag_research.index.hybrid import Hybrid
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.systems.passage_rag import PassageRAG, PassageRAGConfig


@dataclass(frozen=True, slots=True)
class HybridRAGConfig(PassageRAGConfig):
    """See :class:`PassageRAGConfig`.

    Args:
        fusion: mean of min-max scaled scores, or reciprocal rank fusion.
    """

    name: str = "hybrid_rag"
    fusion: Literal["min_max", "reciprocal_rank"] = "min_max"


class HybridRAG(PassageRAG):
    """BM25 and dense, equal weights."""

    Config = HybridRAGConfig

    def retriever(self, corpus: Corpus, store: ArtifactStore) -> Retriever:
        """Both indexes over title and text."""
        texts, parts = [p.contents for p in corpus], self.parts
        lexical = build_bm25("passages", corpus.ids, texts, store)
        dense = build_dense(parts.dense, "passages", corpus.ids, texts, parts.encoder, store)
        return Hybrid([lexical, dense], fusion=self.config.fusion)
