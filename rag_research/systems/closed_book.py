"""No retrieval: what the frozen model knows by itself."""

from __future__ import annotations

from dataclasses import dataclass

from rag_research.corpus.corpus import Corpus
from rag_research.llm.traced import TracedLLM
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.solve.answer import answer_from_memory
from rag_research.systems.base import Index, System
from rag_research.trace import Trace
from rag_research.types import Answer


@dataclass(frozen=True, slots=True)
class ClosedBookConfig:
    """Nothing to set."""

    name: str = "closed_book"


class ClosedBook(System):
    """The lower bound every retrieval system is compared with."""

    Config = ClosedBookConfig

    def index(self, corpus: Corpus, store: ArtifactStore) -> Index:
        """Nothing to build."""
        return Index(corpus, {}, {}, {"passages": len(corpus)})

    async def solve(self, question: str, index: Index, trace: Trace) -> Answer:
        """One call."""
        with trace.step("answer") as step:
            llm = TracedLLM(self.parts.llm, trace)
            text = await answer_from_memory(llm, self.parts.prompts, question)
            step.record(answer=text)
        return Answer(text)
