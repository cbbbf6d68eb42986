"""Approximate dense search in the cells of a k-means partition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rag_research.config.build import inert
from rag_research.embed.base import Vectors
from rag_research.index.faiss_searcher import FaissSearcher, faiss_module, on_device
from rag_research.runtime.devices import resolve_device

_POINTS_PER_CELL = 39  # FAISS asks for at least this many to train a centroid
_TRAINING_POINTS_PER_CELL = 256


@dataclass(frozen=True, slots=True)
class IVFConfig:
    """Args:
    cells: partitions; ``None`` takes ``4 sqrt(N)``. A small N lowers it to N / 39.
    probes: cells searched for each query.
    device: a GPU is used where FAISS was built for one.
    threads: CPU threads of one search and of building.
    """

    name: str = "ivf"
    cells: int | None = None
    probes: int = 16
    device: str = inert("auto")
    threads: int = inert(1)

    def __post_init__(self) -> None:
        if self.probes < 1 or (self.cells is not None and self.cells < 1):
            raise ValueError(f"cells and probes must be at least 1, got {self}.")


class IVF:
    """FAISS ``IndexIVFFlat``, inner product; pays beyond about 200,000 vectors.

    Hits are exact scores of the vectors in the probed cells; neighbours in other cells are
    missed, so a query may find fewer than k.
    """

    Config = IVFConfig

    def __init__(self, config: IVFConfig) -> None:
        self.config = config

    def build(self, vectors: Vectors) -> Any:
        """Train the partition on an evenly spread sample, then add all vectors [N, D]."""
        faiss = faiss_module()

        faiss.omp_set_num_threads(self.config.threads)
        count, dimension = vectors.shape
        cells = self.config.cells or round(4 * count**0.5)
        cells = max(1, min(cells, count // _POINTS_PER_CELL))
        quantizer = faiss.IndexFlatIP(dimension)
        index = faiss.IndexIVFFlat(quantizer, dimension, cells, faiss.METRIC_INNER_PRODUCT)
        step = max(1, count // (cells * _TRAINING_POINTS_PER_CELL))
        index.train(np.ascontiguousarray(vectors[::step]))
        index.add(np.ascontiguousarray(vectors))
        return index

    def searcher(self, index: Any) -> FaissSearcher:
        """What searches the built or loaded index."""
        index.nprobe = self.config.probes
        placed = on_device(index, resolve_device(self.config.device))
        return FaissSearcher(placed, self.config.threads)
