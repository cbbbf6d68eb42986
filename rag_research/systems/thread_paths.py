"""What ThreadRAG retrieves for one question, and how the path selector scores its spans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rag_research.graph.lexical_join import Floats
from rag_research.graph.nodes import SemanticNode
from rag_research.graph.path_retriever import PathRetriever, Ranked
from rag_research.index.base import Retriever, ranked
from rag_research.systems.thread_index import Library
from rag_research.types import Hit

_DECIMALS = 9
_UNSCORED = 1e-3  # of its passage's probability, for a span without a scored sentence


class FoundByHybrid:
    """Chunks of the paper's hybrid search; spans have no learned score.

    Args:
        retriever: over chunks.
        library: of the same chunks.
    """

    def __init__(self, retriever: Retriever, library: Library) -> None:
        self._retriever = retriever

    def first_queries(self, question: str, names: Sequence[str]) -> list[str]:
        """The paper's: question and entities are searched alike."""
        return [question, *names]

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """See :class:`rag_research.index.base.Retriever`."""
        return self._retriever.search(queries, k)

    def span_scores(self, nodes: Sequence[SemanticNode]) -> Floats | None:
        """Nothing is learned here."""
        return None


class FoundByPaths:
    """Chunks ranked by the path selector; remembers what it said of their sentences.

    Scores are keep probabilities, so those of several queries and rounds can be compared: a
    sentence that any query of the loop needs is one to read.

    Args:
        retriever: over chunks.
        library: of the same chunks.
    """

    def __init__(self, retriever: PathRetriever, library: Library) -> None:
        self._retriever = retriever
        self._library = library
        self._sentences: dict[tuple[str, int, int], float] = {}
        self._whole: dict[str, float] = {}

    def first_queries(self, question: str, names: Sequence[str]) -> list[str]:
        """The question alone: candidates are found by the names in it anyway."""
        return [question]

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """See :class:`rag_research.index.base.Retriever`."""
        retriever, lists = self._retriever, []
        for query, tokens in zip(queries, retriever.read(queries), strict=True):
            found = retriever.rank(query, tokens)
            kept = _probabilities(found.passages)
            ids = [retriever.graph.ids[row] for row in found.path.rows.tolist()]
            self._remember(found, ids, kept)
            lists.append(ranked(dict(zip(ids, kept.tolist(), strict=True)), k))
        return lists

    def span_scores(self, nodes: Sequence[SemanticNode]) -> Floats:
        """Keep probability of each span: of the best sentence it shares a character with.

        Shapes:
            [N] -> [N]
        """
        by_document: dict[str, list[tuple[int, int, float]]] = {}
        for (document, start, end), score in self._sentences.items():
            by_document.setdefault(document, []).append((start, end, score))
        scores = np.zeros(len(nodes))
        for number, node in enumerate(nodes):
            span = node.span
            told = by_document.get(span.document_id, ())
            inside = [s for start, end, s in told if start < span.end and end > span.start]
            scores[number] = max(inside, default=self._whole.get(span.document_id, 0.0))
        return np.round(scores, _DECIMALS)

    def _remember(self, found: Ranked, ids: Sequence[str], kept: Floats) -> None:
        path, tables = found.path, self._retriever.graph.tables
        offsets = np.asarray(tables.sentence_offsets[path.sentence_rows])
        scores = _probabilities(found.sentences)
        places = [self._library.place(id) for id in ids]
        for place, score in zip(places, kept.tolist(), strict=True):
            # Triplets put into words are nowhere in the passage: they have its own probability.
            own = score * _UNSCORED if place.verbatim else score
            self._whole[place.document] = max(self._whole.get(place.document, 0.0), own)
        owners = path.sentence_owner.tolist()
        for owner, (start, end), score in zip(
            owners, offsets.tolist(), scores.tolist(), strict=True
        ):
            place = places[owner]
            if place.verbatim:
                key = (place.document, place.start + start, place.start + end)
                self._sentences[key] = max(self._sentences.get(key, 0.0), score)


def _probabilities(logits: Any) -> Floats:
    values = np.asarray(logits, np.float64)
    kept: Floats = 1 / (1 + np.exp(-values))
    return kept
