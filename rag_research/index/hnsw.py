"""Approximate dense search on a navigable small-world graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rag_research.config.build import inert
from rag_research.embed.base import Vectors
from rag_research.index.faiss_searcher import FaissSearcher, faiss_module


@dataclass(frozen=True, slots=True)
class HNSWConfig:
    """Args:
    links: graph neighbours of a vector on each level (M).
    build_width: candidates kept while inserting (efConstruction).
    search_width: candidates kept while searching (efSearch), raised to k where k is larger.
    device: has no effect, FAISS searches this graph on the CPU; kept so that one setting
        fits every dense index.
    threads: CPU threads of one search. Building uses one: insertion order decides the graph.
    """

    name: str = "hnsw"
    links: int = 32
    build_width: int = 200
    search_width: int = 128
    device: str = inert("auto")
    threads: int = inert(1)

    def __post_init__(self) -> None:
        if min(self.links, self.build_width, self.search_width) < 2:
            raise ValueError(f"links, build_width and search_width must be >= 2, got {self}.")


class HNSW:
    """FAISS ``IndexHNSWFlat``, inner product; the fastest on a CPU beyond 200,000 vectors.

    Source: Malkov and Yashunin, Efficient and robust approximate nearest neighbor search using
    hierarchical navigable small world graphs, 2018.
    """

    Config = HNSWConfig

    def __init__(self, config: HNSWConfig) -> None:
        self.config = config

    def build(self, vectors: Vectors) -> Any:
        """Insert all vectors [N, D] in order."""
        faiss = faiss_module()

        faiss.omp_set_num_threads(1)
        index = faiss.IndexHNSWFlat(vectors.shape[1], self.config.links, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = self.config.build_width
        index.add(np.ascontiguousarray(vectors))
        return index

    def searcher(self, index: Any) -> HNSWSearcher:
        """What searches the built or loaded index."""
        return HNSWSearcher(index, self.config.threads, self.config.search_width)


class HNSWSearcher(FaissSearcher):
    """See :class:`HNSW`; widens the search to what is asked for."""

    def __init__(self, index: Any, threads: int, width: int) -> None:
        super().__init__(index, threads)
        self._width = width

    def top(self, queries: Vectors, m: int) -> Any:
        """Scores and rows of the best ``m``.

        Shapes:
            [B, D] -> [B, m], [B, m]
        """
        self.index.hnsw.efSearch = max(self._width, m)
        return super().top(queries, m)
