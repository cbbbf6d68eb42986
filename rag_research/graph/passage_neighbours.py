"""The nearest passages of every passage, found once, so that a question need not look for them.

A question is expanded with the mean of its vector and a passage's. Ranking passages ``v`` by that
mean is ranking them by ``q.v + p.v``: the first term is known from dense search, the second from
this table for those nearest to ``p``, and it bounds all others.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_research.embed.base import Encoder, Vectors
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.runtime.progress import progress

STAGE = "passage-neighbours"
VERSION = 1
KEPT = 64
MOST = 200_000  # passages; time grows with their square, and is minutes here
_TILE = 1024
_MARGIN = 1e-5  # what single precision may be off by
_FEW = 0.1  # share of the passages from which on multiplying all of them is no slower

Integers = NDArray[np.int64]
Floats = NDArray[np.float32]
Table = tuple[NDArray[np.int32], Floats]


def passage_neighbours(
    vectors: Vectors, texts: str, encoder: Encoder, store: ArtifactStore
) -> Table | None:
    """Build, or find in ``store``, the table; ``None`` for more than :data:`MOST` passages.

    Args:
        vectors: unit, of all passages.
        texts: fingerprint of the passages.
        encoder: that made the vectors.
        store: keeps the table.

    Returns:
        The :data:`KEPT` nearest passages of each (itself among them), nearest first, and
        their cosines.

    Shapes:
        vectors [N, D] -> [N, K], [N, K]
    """
    if len(vectors) > MOST:
        return None

    def write(directory: Path) -> Mapping[str, int]:
        rows, cosine = _nearest(vectors)
        np.save(directory / "rows.npy", rows, allow_pickle=False)
        np.save(directory / "cosine.npy", cosine, allow_pickle=False)
        return {"passages": len(rows)}

    inputs = {"texts": texts, "encoder": dict(encoder.identity), "kept": KEPT}
    path = store.ensure(STAGE, VERSION, inputs, write).path
    rows, cosine = (np.load(path / f"{name}.npy", mmap_mode="r") for name in ("rows", "cosine"))
    return np.asarray(rows), np.asarray(cosine)


def _nearest(vectors: Vectors) -> Table:
    import torch

    table = torch.from_numpy(np.array(vectors, np.float32))
    kept = min(KEPT, len(table))
    rows = np.empty((len(table), kept), np.int32)
    cosine = np.empty((len(table), kept), np.float32)
    with progress("find neighbours", len(table)) as advance:
        for low in range(0, len(table), _TILE):
            best = (table[low : low + _TILE] @ table.T).topk(kept, dim=1)
            high = low + len(best.values)
            rows[low:high], cosine[low:high] = best.indices.numpy(), best.values.numpy()
            advance(high - low)
    return rows, cosine


def nearest_to_means(
    vectors: Vectors, dense: Floats, passages: Integers, limit: int, table: Table | None
) -> Integers:
    """The passages nearest to the mean of a question and each of some passages, exactly.

    Args:
        vectors: unit, of all passages.
        dense: their cosines with the question.
        passages: M of them.
        limit: how many for each.
        table: see :func:`passage_neighbours`; without it everything is multiplied.

    Returns:
        For each passage, nearest first.

    Shapes:
        [N, D], [N], [M] -> [M, min(limit, N)]
    """
    limit = min(limit, len(dense))
    if not limit:
        return np.empty((len(passages), 0), np.int64)
    if table is None or table[0].shape[1] < limit:
        return _of_all(vectors, dense, passages, limit)
    rows = np.asarray(table[0][passages], np.int64)
    cosine = table[1][passages]
    scores = dense[rows] + cosine
    # What is not in the table has at most its last cosine, and so needs this one with the question.
    needed = _best(scores, rows, limit)[1] - cosine[:, -1] - _MARGIN
    others = np.flatnonzero(dense >= needed.min(initial=np.inf))
    if len(others) > len(dense) * _FEW:
        return _of_all(vectors, dense, passages, limit)
    further = vectors[passages] @ vectors[others].T + dense[others]
    further[(rows[:, :, None] == others).any(axis=1)] = -np.inf  # counted already
    rows = np.concatenate([rows, np.broadcast_to(others, further.shape)], axis=1)
    return _best(np.concatenate([scores, further], axis=1), rows, limit)[0]


def _of_all(vectors: Vectors, dense: Floats, passages: Integers, limit: int) -> Integers:
    scores = np.ascontiguousarray((vectors @ vectors[passages].T).T)  # not V[p] @ V.T: slower
    scores += dense
    rows = np.broadcast_to(np.arange(len(dense)), scores.shape)
    return _best(scores, rows, limit)[0]


def _best(scores: Floats, rows: NDArray[Any], limit: int) -> tuple[Integers, Floats]:
    """Of each line the best, in order, and the score of the last."""
    part = np.argpartition(-scores, limit - 1, axis=1)[:, :limit]
    best, found = np.take_along_axis(scores, part, 1), np.take_along_axis(rows, part, 1)
    order = np.lexsort((found, -best))
    return np.take_along_axis(found, order, 1), best.min(axis=1)
