"""What every system is: parts injected, an index built once, one question solved at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from rag_research.corpus.corpus import Corpus
from rag_research.embed.base import Encoder
from rag_research.llm.base import LLM
from rag_research.prompts.library import PromptLibrary
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.trace import Trace
from rag_research.types import Answer, Usage


@dataclass(frozen=True, slots=True)
class Parts:
    """What a system is given to work with.

    Args:
        llm: the frozen reader; wrappers (cache, budget) are already around it.
        encoder: the frozen text encoder.
        prompts: prompt files, with the user's overrides.
        dense: configuration of dense indexes (an entry of ``DENSE_INDEXES``).
        reranker: configuration of the rerank slot (an entry of ``RERANKERS``).
        concurrency: most LLM calls to have under way at once while indexing.
    """

    llm: LLM
    encoder: Encoder
    prompts: PromptLibrary
    dense: Any = None
    reranker: Any = None
    concurrency: int = 8


@dataclass(frozen=True, slots=True)
class Index:
    """What :meth:`System.index` leaves ready to query.

    Args:
        corpus: the passages, to look evidence up.
        retrievers: by role, as the system names them (``"passages"``, ``"propositions"``).
        data: anything else the system needs at query time.
        counts: sizes for reports (``{"passages": 200, "triplets": 1800}``).
        usage: LLM cost of building by purpose, that of work found in the store included
            (``Extraction.usage``); empty for an index without LLM calls.
        contents: fingerprint of what was extracted, which settings and corpus do not tell: a
            call may have failed, a file may have changed. Answers are stored under it.
    """

    corpus: Corpus
    retrievers: Mapping[str, Any]
    data: Mapping[str, Any]
    counts: Mapping[str, int]
    usage: Mapping[str, Usage] = field(default_factory=dict)
    contents: str = ""


class System(ABC):
    """A question answering system.

    Args:
        config: an instance of the class's own ``Config``.
        parts: injected parts.
    """

    Config: ClassVar[type[Any]]

    def __init__(self, config: Any, parts: Parts) -> None:
        self.config = config
        self.parts = parts

    @abstractmethod
    def index(self, corpus: Corpus, store: ArtifactStore) -> Index:
        """Build, or find in ``store``, everything that needs no question.

        Idempotent and resumable: a second call finds finished work in the store. It sees no
        question. The cost of its LLM calls is reported in :attr:`Index.usage`.
        """

    @abstractmethod
    async def solve(self, question: str, index: Index, trace: Trace) -> Answer:
        """Answer one question; straight-line code, safe to run concurrently with others."""
