"""From scores to hits with ties broken by id, also at the cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_research.types import Hit

Scores = NDArray[np.floating[Any]]
Rows = NDArray[np.int64]

DECIMALS = 6
_SLACK = 8


def top_hits(
    candidates: Callable[[NDArray[np.intp], int], tuple[Scores, Rows]],
    ids: Sequence[str],
    queries: int,
    k: int,
) -> list[list[Hit]]:
    """The best ``k`` rows of each query, sorted by ``(-score, id)``.

    A library's top k cuts through ties as it likes. So a few more are asked for, and where the
    tie at the cut reaches beyond them, more again. Scores are rounded to six decimals first:
    float32 sums differ in the last bits with the size of a batch, which must not decide order.

    Args:
        candidates: (positions of queries [B], m) -> scores [B, m] in falling order and rows
            [B, m]; row -1 fills up where there are fewer than m.
        ids: id of each of the N rows.
        queries: number of queries.
        k: hits a query.
    """
    size = min(k, len(ids))
    hits: list[list[Hit]] = [[] for _ in range(queries)]
    if size <= 0:
        return hits
    pending = np.arange(queries)
    wanted = min(len(ids), size + _SLACK)
    while len(pending):
        scores, rows = candidates(pending, wanted)
        rounded = np.round(scores.astype(np.float64), DECIMALS)
        open_ties: list[int] = []
        for i, query in enumerate(pending):
            found = rows[i] >= 0
            values, places = rounded[i][found], rows[i][found]
            exhausted = len(values) < wanted or wanted == len(ids)
            if not exhausted and values[-1] == values[size - 1]:
                open_ties.append(int(query))
                continue
            keep = values >= values[size - 1] if len(values) > size else slice(None)
            order = sorted(
                zip(values[keep].tolist(), places[keep].tolist(), strict=True),
                key=lambda pair: (-pair[0], ids[pair[1]]),
            )
            hits[query] = [Hit(ids[row], value) for value, row in order[:size]]
        pending = np.asarray(open_ties, dtype=np.intp)
        wanted = min(len(ids), wanted * 4)
    return hits
