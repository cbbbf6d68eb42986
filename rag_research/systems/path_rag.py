"""Passages that the learned path selector finds along the corpus graph, read in one call."""

from __future__ import annotations

from dataclasses import dataclass

from rag_research.corpus.corpus import Corpus
from rag_research.graph.path_retriever import build_path_retriever
from rag_research.graph.selector_checkpoint import load_selector
from rag_research.index.base import Retriever
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.systems.passage_rag import PassageRAG, PassageRAGConfig


@dataclass(frozen=True, slots=True)
class PathRAGConfig(PassageRAGConfig):
    """See :class:`PassageRAGConfig`.

    Args:
        path_selector: released network, or the path of one.
    """

    name: str = "path_rag"
    path_selector: str = "selector-minilm"


class PathRAG(PassageRAG):
    """The selector's ranking of whole passages, without ThreadRAG's spans and loop."""

    Config = PathRAGConfig

    def retriever(self, corpus: Corpus, store: ArtifactStore) -> Retriever:
        """The corpus graph and BM25; costs no LLM token."""
        selector = load_selector(self.config.path_selector)
        return build_path_retriever(corpus, self.parts.encoder, store, selector)
