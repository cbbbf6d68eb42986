"""Words that come back: links across a cut, and new words after it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Features = NDArray[np.float32]
Ids = NDArray[np.int64]
REACHES = (4, 16, 64)
_AHEAD = (1, 3, 8)
COLUMNS = len(REACHES) + 2 * len(_AHEAD)


def lexical_links(ids: Ids, weights: Features, starts: Ids) -> Features:
    """Lexical cohesion at each cut, after the chains of Galley et al. 2003.

    A word that occurs in unit ``a`` and next in unit ``b > a`` links the cuts between them. At
    each cut: the weight of links of at most 4, 16 and 64 units, as a share of the words'
    weight in that many units (at most 16) around it; then for the next 1, 3 and 8 units the
    weight of words never seen before in the document, and not in the last 64 units, as shares
    of all words there.

    Args:
        ids: of the words of a document in order.
        weights: of the same words, e.g. inverse document frequencies; 0 leaves a word out.
        starts: index of the first word of each unit, increasing, one entry a unit.

    Shapes:
        [W], [W], [U] -> [max(U - 1, 0), 9]
    """
    units = len(starts)
    if units < 2:
        return np.zeros((0, COLUMNS), dtype=np.float32)
    of = np.searchsorted(starts, np.arange(len(ids)), side="right") - 1
    before = _previous_unit(ids, of)
    mass = np.bincount(of, weights, minlength=units).astype(np.float64)
    columns = []
    for reach in REACHES:
        linked = (before >= 0) & (before < of) & (of - before <= reach)
        edges = np.bincount(before[linked] + 1, weights[linked], minlength=units + 1)
        edges = edges - np.bincount(of[linked] + 1, weights[linked], minlength=units + 1)
        crossing = np.cumsum(edges)[1:units]
        around = _ahead(mass, min(reach, 16)) + _behind(mass, min(reach, 16))
        columns.append(crossing / (around + 1.0))
    unseen = np.bincount(of, weights * (before < 0), minlength=units).astype(np.float64)
    far = (before < 0) | (of - before > 64)
    away = np.bincount(of, weights * far, minlength=units).astype(np.float64)
    for width in _AHEAD:
        total = _ahead(mass, width) + 0.5
        columns += [_ahead(unseen, width) / total, _ahead(away, width) / total]
    return np.stack(columns, axis=1).astype(np.float32)


def _previous_unit(ids: Ids, of: Ids) -> Ids:
    """Unit of the same word's last occurrence in an earlier unit (or the same); -1 if none."""
    found = np.full(len(ids), -1, dtype=np.int64)
    order = np.argsort(ids, kind="stable")
    same = ids[order[1:]] == ids[order[:-1]]
    found[order[1:][same]] = of[order[:-1][same]]
    return found


def _ahead(mass: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    sums = np.concatenate([[0.0], np.cumsum(mass)])
    at = np.arange(1, len(mass))
    found: NDArray[np.float64] = sums[np.minimum(at + width, len(mass))] - sums[at]
    return found


def _behind(mass: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    sums = np.concatenate([[0.0], np.cumsum(mass)])
    at = np.arange(1, len(mass))
    found: NDArray[np.float64] = sums[at] - sums[np.maximum(at - width, 0)]
    return found
