"""Retrieve once, read once: the frame of the passage baselines."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from rag_research.corpus.corpus import Corpus
from rag_research.index.base import Retriever
from rag_research.llm.traced import TracedLLM
from rag_research.registry import RERANKERS
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.solve.answer import answer_from_passages
from rag_research.systems.base import Index, System
from rag_research.trace import Trace
from rag_research.types import Answer


@dataclass(frozen=True, slots=True)
class PassageRAGConfig:
    """Settings of the passage baselines.

    Args:
        k: passages the model reads.
        depth: passages the reranker sees before it keeps ``k``; at least ``k``.
    """

    name: str
    k: int = 5
    depth: int = 20

    def __post_init__(self) -> None:
        if self.k < 1 or self.depth < self.k:
            raise ValueError(f"needs 1 <= k <= depth, got k={self.k} and depth={self.depth}")


class PassageRAG(System):
    """Subclasses say how passages are retrieved."""

    @abstractmethod
    def retriever(self, corpus: Corpus, store: ArtifactStore) -> Retriever:
        """The index over the corpus' passages, built or found in ``store``."""

    def index(self, corpus: Corpus, store: ArtifactStore) -> Index:
        """One retriever and the rerank slot."""
        reranker = RERANKERS.get(self.parts.reranker.name)(self.parts.reranker)
        retrievers = {"passages": self.retriever(corpus, store)}
        return Index(corpus, retrievers, {"reranker": reranker}, {"passages": len(corpus)})

    async def solve(self, question: str, index: Index, trace: Trace) -> Answer:
        """Retrieve, rerank, answer."""
        with trace.step("retrieve") as step:
            found = index.retrievers["passages"].search([question], self.config.depth)[0]
            texts = {hit.id: index.corpus[hit.id].contents for hit in found}
            hits = index.data["reranker"].rerank(question, found, texts, self.config.k)
            step.record(found=found, hits=hits)
        with trace.step("answer") as step:
            passages = [index.corpus[hit.id] for hit in hits]
            llm = TracedLLM(self.parts.llm, trace)
            text = await answer_from_passages(llm, self.parts.prompts, question, passages)
            step.record(answer=text)
        return Answer(text, tuple(hits), rounds=1, stats={"unique_chunks": len(hits)})
