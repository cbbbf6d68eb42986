"""What stands in for a cross-encoder where none is configured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rag_research.embed.base import Encoder
from rag_research.index.base import ranked
from rag_research.index.rerank import Texts
from rag_research.index.selection import DECIMALS
from rag_research.types import Hit


class Similarity:
    """A reranker by cosine of query and text.

    Args:
        encoder: encodes both.
    """

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder

    def rerank(self, query: str, hits: Sequence[Hit], texts: Texts, k: int) -> list[Hit]:
        """The best ``k``; see :class:`rag_research.index.rerank.Reranker`."""
        if not hits or k <= 0:
            return []
        look_up = texts.__getitem__ if isinstance(texts, Mapping) else texts
        ids = list(dict.fromkeys(hit.id for hit in hits))
        vectors = self.encoder.encode([look_up(id) for id in ids], "passage")
        scores = vectors @ self.encoder.encode([query], "query")[0]
        rounded = {id: round(float(s), DECIMALS) for id, s in zip(ids, scores, strict=True)}
        return ranked(rounded, k)
