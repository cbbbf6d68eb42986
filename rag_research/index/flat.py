"""Exact dense search: blocked matrix products and a running top k."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rag_research.config.build import inert
from rag_research.embed.base import Vectors
from rag_research.index.faiss_searcher import faiss_module
from rag_research.index.selection import Rows, Scores
from rag_research.runtime.devices import resolve_device

_BLOCK = 32_768


@dataclass(frozen=True, slots=True)
class FlatConfig:
    """Args:
    device: ``auto``, ``cpu``, ``cuda`` or ``cuda:INDEX``.
    threads: CPU threads of one search.
    """

    name: str = "flat"
    device: str = inert("auto")
    threads: int = inert(1)


class Flat:
    """``score(q, x) = q . x`` for all x, nothing approximated.

    The file is a FAISS ``IndexFlatIP``; searching multiplies blocks of it with torch, which is
    several times faster than FAISS's own flat search for batches of queries.
    """

    Config = FlatConfig

    def __init__(self, config: FlatConfig) -> None:
        self.config = config

    def build(self, vectors: Vectors) -> Any:
        """A FAISS index over ``vectors`` [N, D]."""
        faiss = faiss_module()

        index = faiss.IndexFlatIP(vectors.shape[1])
        for start in range(0, len(vectors), _BLOCK):
            index.add(np.ascontiguousarray(vectors[start : start + _BLOCK]))
        return index

    def searcher(self, index: Any) -> FlatSearcher:
        """What searches the built or loaded index."""
        return FlatSearcher(index, resolve_device(self.config.device), self.config.threads)


class FlatSearcher:
    """See :class:`Flat`.

    Args:
        index: an ``IndexFlatIP``; its memory is shared, not copied, on the CPU.
        device: a torch device.
        threads: CPU threads.
    """

    def __init__(self, index: Any, device: str, threads: int) -> None:
        faiss = faiss_module()
        import torch

        self._index = index  # owns the memory below
        self._threads = threads
        flat = faiss.rev_swig_ptr(index.get_xb(), index.ntotal * index.d)
        self._rows: Vectors = flat.reshape(index.ntotal, index.d)
        self._vectors = torch.from_numpy(self._rows).to(device)

    def top(self, queries: Vectors, m: int) -> tuple[Scores, Rows]:
        """Scores and rows of the best ``m``.

        Shapes:
            [B, D] -> [B, m], [B, m]
        """
        import torch

        if self._vectors.device.type == "cpu":
            torch.set_num_threads(self._threads)
        asked = torch.from_numpy(queries).to(self._vectors.device)
        scores: list[Any] = []
        rows: list[Any] = []
        for start in range(0, len(self._vectors), _BLOCK):
            block = asked @ self._vectors[start : start + _BLOCK].T
            best = block.topk(min(m, block.shape[1]), dim=1)
            scores.append(best.values)
            rows.append(best.indices + start)
        best = torch.cat(scores, dim=1).topk(m, dim=1)
        chosen = torch.cat(rows, dim=1).gather(1, best.indices).cpu().numpy()
        return self._rescored(queries, chosen)

    def _rescored(self, queries: Vectors, rows: Rows) -> tuple[Scores, Rows]:
        """Scores in float64, so that they do not depend on the batch a query came in."""
        scores = np.empty(rows.shape, dtype=np.float64)
        for i, query in enumerate(queries):
            values = self._rows[rows[i]].astype(np.float64) @ query.astype(np.float64)
            order = np.argsort(-values, kind="stable")
            scores[i], rows[i] = values[order], rows[i][order]
        return scores, rows
