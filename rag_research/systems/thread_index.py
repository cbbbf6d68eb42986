"""What ThreadRAG knows before a question: chunks to retrieve, spans to connect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rag_research.corpus.corpus import Corpus
from rag_research.embed.base import Vectors, token_encoder
from rag_research.embed.store import EmbeddingStore
from rag_research.extract.documents import (
    Document,
    Facts,
    span_documents,
    triplet_documents,
    with_facts,
    with_title_entity,
)
from rag_research.extract.spans import merge_passages
from rag_research.graph.evidence import NEED_FACTS
from rag_research.graph.nodes import SemanticNode
from rag_research.graph.path_retriever import build_path_retriever
from rag_research.graph.selector_checkpoint import load_selector
from rag_research.graph.topology import Topology
from rag_research.index.base import Retriever, ranked
from rag_research.index.bm25 import build_bm25
from rag_research.index.chunks import Chunk, chunk_passages
from rag_research.index.dense import build_dense
from rag_research.index.hybrid import Hybrid
from rag_research.registry import ENTITY_FINDERS, EXTRACTORS, SEGMENTERS
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.systems.base import Index, Parts
from rag_research.types import Hit, Passage, Span


@dataclass(frozen=True, slots=True)
class Place:
    """Where a chunk stands.

    Args:
        document: its id.
        start: place in the document's text of character 0 of the chunk's contents, title
            included, so that a range in the contents can be moved by it.
        verbatim: the document's text is the passages' own; otherwise ``start`` means nothing.
    """

    document: str
    start: int
    verbatim: bool


class Library:
    """Documents, their spans and vectors, and which spans a chunk covers.

    Args:
        documents: in corpus order.
        vectors: of all their spans in order, [number of spans, D].
        chunks: what is retrieved.
    """

    def __init__(
        self, documents: Sequence[Document], vectors: Vectors, chunks: Iterable[Chunk]
    ) -> None:
        self.documents = {document.source.id: document for document in documents}
        self.chunks = {chunk.id: chunk for chunk in chunks}
        self._vectors = vectors
        sizes = [len(document.nodes) for document in documents]
        starts = np.cumsum([0, *sizes])[:-1].tolist()
        self._first = dict(zip(self.documents, starts, strict=True))
        self._document_of = {p: d for d in documents for p in d.source.passages}

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """Text of each document."""
        return {id: document.source.text for id, document in self.documents.items()}

    @cached_property
    def facts(self) -> Facts:
        """Triplets of each span, where they were asked for."""
        return {key: t for d in self.documents.values() for key, t in d.facts.items()}

    def document_of(self, chunk_id: str) -> Document:
        """The document a chunk is from."""
        return self._document_of[self.chunks[chunk_id].passage_id]

    def spans(self, chunk_ids: Iterable[str]) -> tuple[list[SemanticNode], Vectors]:
        """The spans that chunks cover, whole or in part, each once, and their vectors.

        Chunks of one document that overlap, or touch, count as one piece of it.
        """
        nodes: dict[tuple[str, int, int], SemanticNode] = {}
        rows = []
        for id in chunk_ids:
            document = self.document_of(id)
            where = document.overlapping(*self._interval(self.chunks[id], document))
            first = self._first[document.source.id]
            for number in range(len(document.nodes))[where]:
                node = document.nodes[number]
                if node.key not in nodes:
                    nodes[node.key] = node
                    rows.append(first + number)
        return list(nodes.values()), np.asarray(self._vectors[rows])

    def document_scores(self, hits: Iterable[Hit]) -> dict[str, float]:
        """The best retrieval score of each document among ``hits``."""
        scores: dict[str, float] = {}
        for hit in hits:
            document = self.document_of(hit.id).source.id
            scores[document] = max(scores.get(document, hit.score), hit.score)
        return scores

    def place(self, chunk_id: str) -> Place:
        """Where a chunk's contents stand in its document."""
        chunk, document = self.chunks[chunk_id], self.document_of(chunk_id)
        start = document.source.passages[chunk.passage_id][0] + chunk.start - chunk.text_start
        return Place(document.source.id, start, document.verbatim)

    def passage_of(self, span: Span) -> str:
        """The passage that holds most of a span."""
        return self.documents[span.document_id].passage_of(span.start, span.end)

    def _interval(self, chunk: Chunk, document: Document) -> tuple[int, int]:
        start, end = document.source.passages[chunk.passage_id]
        if document.verbatim:
            return start + chunk.start, start + chunk.end
        return start, end


def build_library(config: Any, corpus: Corpus, store: ArtifactStore, parts: Parts) -> Index:
    """Everything :class:`~rag_research.systems.threadrag.ThreadRAG` needs for ``corpus``.

    Args:
        config: a ``ThreadRAGConfig``.
        corpus: the passages; chunks of one document are put together again first.
        store: finished work is found and kept there.
        parts: encoder, dense index kind, and the LLM of an extractor that asks one.
    """
    Topology(config.topology).data()  # a missing extra is told now; loading it costs no question
    if config.retrieval == "paths":
        token_encoder(parts.encoder)  # before anything is sent to one that will not do
    sources = merge_passages(corpus)
    usage, counts, triplets, contents = {}, {}, {}, ""
    if config.units == "triplets" or config.evidence in NEED_FACTS:
        extractor = EXTRACTORS.get(config.extractor.name)(config.extractor)
        extraction = extractor.extract(corpus, store, parts.llm, parts.prompts, parts.concurrency)
        triplets, usage = extraction.triplets, extraction.usage
        counts, contents = dict(extraction.report), extraction.fingerprint
    if config.units == "triplets":
        documents = triplet_documents(sources, triplets)
    else:
        segmenter = SEGMENTERS.get(config.segmenter.name)(config.segmenter)
        finder = ENTITY_FINDERS.get(config.entities.name)(config.entities)
        documents = span_documents(sources, segmenter, finder, store, config.span_words)
        if config.evidence in NEED_FACTS:
            documents = [with_facts(document, triplets) for document in documents]
    if config.title_entity == "each_span":
        documents = with_title_entity(documents)
    texts = [EMBEDDED[config.embedded](node) for d in documents for node in d.nodes]
    stored = EmbeddingStore(store.root, parts.encoder, read_only=store.read_only)
    vectors = stored.vectors(texts, label="encode spans")
    chunks = chunk_passages(corpus, config.chunk_size, config.chunk_overlap)
    library = Library(documents, vectors, chunks)
    retriever = RETRIEVALS[config.retrieval](config, library, parts, store)
    counts |= {"documents": len(documents), "chunks": len(chunks), "spans": len(texts)}
    return Index(
        corpus,
        {"chunks": retriever},
        {"library": library},
        counts,
        usage,
        contents,
    )


def by_hybrid(config: Any, library: Library, parts: Parts, store: ArtifactStore) -> Retriever:
    """The paper's retrieval: BM25 and dense, equal weights."""
    ids, contents = list(library.chunks), [c.contents for c in library.chunks.values()]
    lexical = build_bm25("chunks", ids, contents, store)
    dense = build_dense(parts.dense, "chunks", ids, contents, parts.encoder, store)
    return Hybrid([lexical, dense], fusion=config.fusion)


def by_paths(config: Any, library: Library, parts: Parts, store: ArtifactStore) -> Retriever:
    """Along the corpus graph of chunks, ranked by the path selector."""
    passages, places = [], {}
    numbers = {document: number for number, document in enumerate(library.documents)}
    seen: Counter[int] = Counter()
    for chunk in library.chunks.values():
        head, text = chunk.contents[: chunk.text_start], chunk.contents[chunk.text_start :]
        passages.append(Passage(chunk.id, head.removesuffix("\n"), text))
        document = numbers[library.document_of(chunk.id).source.id]
        places[chunk.id] = (document, seen[document])
        seen[document] += 1
    selector = load_selector(config.path_selector)
    return build_path_retriever(Corpus(passages), parts.encoder, store, selector, places)


RETRIEVALS = {"hybrid": by_hybrid, "paths": by_paths}


def _titled(node: SemanticNode) -> str:
    return f"{node.title}\n{node.span.text}" if node.title else node.span.text


EMBEDDED = {"span": lambda node: node.span.text, "titled_span": _titled}


def pooled(lists: Iterable[Sequence[Hit]]) -> list[Hit]:
    """Lists of several queries as one: the best score of each id, sorted by ``(-score, id)``."""
    scores: dict[str, float] = {}
    for hits in lists:
        for hit in hits:
            scores[hit.id] = max(scores.get(hit.id, hit.score), hit.score)
    return ranked(scores, len(scores))
