"""Several retrievers as one: fused scores or fused ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rag_research.errors import ConfigError
from rag_research.index.base import Retriever, ranked
from rag_research.types import Hit

Fusion = Literal["min_max", "reciprocal_rank"]

_RANK_CONSTANT = 60


class Hybrid:
    """Fuses the lists of several retrievers, query by query, with equal weights.

    ``min_max``: ``score(d) = mean_r (s_r(d) - min s_r) / (max s_r - min s_r)``, over the
    retriever's own list; a document that a list lacks gets 0 there, a list whose scores are all
    equal gives 1. ``reciprocal_rank``: ``score(d) = sum_r 1 / (60 + rank_r(d))``, ranks from 1.

    Args:
        retrievers: at least one; all rank the same ids.
        fusion: see above.
        depth: hits taken from each retriever, raised to k where k is larger.

    Raises:
        ConfigError: no retriever, an unknown fusion, a depth below 1.

    Source: Cormack et al., Reciprocal Rank Fusion outperforms Condorcet and individual Rank
    Learning Methods, 2009.
    """

    def __init__(
        self, retrievers: Sequence[Retriever], fusion: Fusion = "min_max", depth: int = 100
    ) -> None:
        if not retrievers or depth < 1:
            raise ConfigError(
                f"hybrid: got {len(retrievers)} retrievers and depth {depth}, expected at least "
                "one retriever and a depth of at least 1."
            )
        if fusion not in ("min_max", "reciprocal_rank"):
            raise ConfigError(f"hybrid: got {fusion!r}, expected min_max or reciprocal_rank.")
        self.retrievers = tuple(retrievers)
        self.fusion = fusion
        self.depth = depth

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Rank for each query; see :class:`rag_research.index.base.Retriever`."""
        if k <= 0:
            return [[] for _ in queries]
        lists = [r.search(queries, max(k, self.depth)) for r in self.retrievers]
        return [fuse(per_query, self.fusion, k) for per_query in zip(*lists, strict=True)]


def fuse(lists: Sequence[Sequence[Hit]], fusion: Fusion, k: int) -> list[Hit]:
    """Fuse lists for one query; see :class:`Hybrid`.

    Args:
        lists: hits sorted by ``(-score, id)``.
        fusion: ``min_max`` or ``reciprocal_rank``.
        k: hits to keep.
    """
    weigh = _min_max if fusion == "min_max" else _reciprocal_rank
    share = 1 / len(lists) if fusion == "min_max" else 1.0
    scores: dict[str, float] = {}
    for hits in lists:
        for id, weight in weigh(hits).items():
            scores[id] = scores.get(id, 0.0) + share * weight
    return ranked(scores, k)


def _min_max(hits: Sequence[Hit]) -> dict[str, float]:
    if not hits:
        return {}
    low = min(hit.score for hit in hits)
    width = max(hit.score for hit in hits) - low
    return {hit.id: (hit.score - low) / width if width else 1.0 for hit in hits}


def _reciprocal_rank(hits: Sequence[Hit]) -> dict[str, float]:
    return {hit.id: 1 / (_RANK_CONSTANT + rank) for rank, hit in enumerate(hits, start=1)}
