"""The protocol of a retriever."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from rag_research.types import Hit


@runtime_checkable
class Retriever(Protocol):
    """Ranks a fixed collection of identified texts against queries."""

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Rank the collection for each query.

        Args:
            queries: B strings; an empty one, or one with no known word, gives an empty list
                from lexical search and a defined ranking from dense search.
            k: at most this many hits a query; fewer when the collection is smaller.

        Returns:
            B lists sorted by ``(-score, id)``.
        """
        ...


def ranked(scores: dict[str, float], k: int) -> list[Hit]:
    """The best ``k`` of ``scores`` as hits, sorted by ``(-score, id)``."""
    order = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    return [Hit(id, score) for id, score in order[:k]]
