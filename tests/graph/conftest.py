"""Small corpora behind path retrieval, with the hashing encoder."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rag_research.corpus.corpus import Corpus
from rag_research.embed.base import Role
from rag_research.embed.hashing import Hashing, HashingConfig
from rag_research.embed.token_store import TokenStore
from rag_research.graph.corpus_graph import CorpusGraph, build_corpus_graph
from rag_research.graph.path_candidates import CandidateConfig, Found, find_candidates
from rag_research.graph.path_features import PathGraph, path_graph
from rag_research.graph.path_question import Asked, ask
from rag_research.index.bm25 import BM25Retriever, build_bm25
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.types import Passage


class CountingHashing(Hashing):
    """Notes every text it is asked to read."""

    def __init__(self, dimension: int = 256) -> None:
        super().__init__(HashingConfig(dimension=dimension))
        self.read: list[str] = []

    def encode(self, texts: Sequence[str], role: Role) -> Any:
        self.read += texts
        return super().encode(texts, role)

    def token_states(self, texts: Sequence[str], role: Role) -> Iterator[tuple[list[int], Any]]:
        self.read += texts
        return Hashing(self.config).token_states(texts, role)

    def pooled(self, texts: Sequence[str], states: Any) -> Any:
        return Hashing(self.config).pooled(texts, states)


@dataclass(frozen=True)
class World:
    corpus: Corpus
    encoder: CountingHashing
    store: ArtifactStore
    graph: CorpusGraph
    lexical: BM25Retriever
    reader: TokenStore

    def ask(self, question: str) -> Asked:
        return ask(self.graph, question, self.reader.query([question])[0])

    def find(self, question: str, **limits: int) -> Found:
        asked = self.ask(question)
        return find_candidates(self.graph, self.lexical, asked, CandidateConfig(**limits))

    def ids(self, found: Found, origin: int | None = None) -> set[str]:
        """Of candidates, or of those of one origin."""
        pairs = zip(found.rows.tolist(), found.origin.tolist(), strict=True)
        return {self.graph.ids[row] for row, kind in pairs if origin in (None, kind)}

    def path(self, question: str, **limits: int) -> PathGraph:
        return path_graph(self.graph, self.ask(question), self.find(question, **limits))


MakeWorld = Callable[..., World]


@pytest.fixture
def make_world(tmp_path: Path) -> MakeWorld:
    """Builds everything over passages, given as ``Passage`` or ``(id, title, text)``."""

    def make(
        passages: Sequence[Passage | tuple[str, str, str]], folder: str = "store", width: int = 256
    ) -> World:
        corpus = Corpus([p if isinstance(p, Passage) else Passage(*p) for p in passages])
        encoder, store = CountingHashing(width), ArtifactStore(tmp_path / folder)
        graph = build_corpus_graph(corpus, encoder, store)
        texts = [passage.contents for passage in corpus]
        lexical = build_bm25("passages", corpus.ids, texts, store)
        return World(corpus, encoder, store, graph, lexical, TokenStore(store.root, encoder))

    return make
