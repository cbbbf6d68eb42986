"""Similarity of what stands before and after a cut, from any vectors of the units."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Features = NDArray[np.float32]
WINDOWS = (1, 2, 4, 8, 16)
_REACH = 8  # cuts on each side in which a valley looks for its hills
_LOCAL = 12  # cuts on each side of a local mean
_PATCH = 3  # units on each side whose pairs are compared one by one
COLUMNS = 4 * len(WINDOWS) + _PATCH**2 + 4


def window_features(vectors: Features, windows: Sequence[int] = WINDOWS) -> Features:
    """Cosines across each cut at several widths, and how they compare with nearby cuts.

    With ``v`` the unit vectors, ``c_w(i) = cos(sum v[i-w+1 .. i], sum v[i+1 .. i+w])`` and for
    each width ``w``: the cosine; its depth ``max c(left) + max c(right) - 2 c`` over 8 cuts on
    each side (TextTiling's valley score, after Hearst 1997); its z-score in the document; its
    z-score among the 25 cuts around. Then the nine cosines of single units up to three before
    and three after, and the coherence inside the windows of 4 and 8 on each side,
    ``|sum v / |v||^2 / w^2``.

    Args:
        vectors: one per unit; a zero vector is similar to nothing.
        windows: widths in units.

    Shapes:
        [U, D] -> [max(U - 1, 0), 4 * W + 13]
    """
    cuts = len(vectors) - 1
    if cuts < 1:
        return np.zeros((0, 4 * len(windows) + _PATCH**2 + 4), dtype=np.float32)
    unit = directions(vectors)
    sums = np.concatenate([np.zeros((1, unit.shape[1]), np.float32), np.cumsum(unit, axis=0)])
    at = np.arange(1, cuts + 1)
    columns: list[Features] = []
    for width in windows:
        left = sums[at] - sums[np.maximum(at - width, 0)]
        right = sums[np.minimum(at + width, cuts + 1)] - sums[at]
        cosine = (directions(left) * directions(right)).sum(axis=1)
        columns += [cosine, depth(cosine), z_scores(cosine), _local_z_score(cosine)]
    columns += _pairs(unit)
    columns += _coherence(sums, at, cuts + 1)
    return np.stack(columns, axis=1).astype(np.float32)


def depth(scores: Features, reach: int = _REACH) -> Features:
    """How deep each score lies below the highest ones before and after it.

    Shapes:
        [C] -> [C]
    """
    padded = np.pad(scores, reach, mode="edge")
    highest = sliding_window_view(padded, reach + 1).max(axis=1)
    before, after = highest[: len(scores)], highest[reach:]
    found: Features = before + after - 2 * scores
    return found


def directions(vectors: Features) -> Features:
    """Vectors at length 1; zeros stay zeros. [N, D] -> [N, D]"""
    norms = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    found: Features = vectors / np.maximum(norms, 1e-9)
    return found


def z_scores(scores: Features) -> Features:
    """``(x - mean) / (deviation + 1e-4)``. [N] -> [N]"""
    found: Features = (scores - scores.mean()) / (scores.std() + 1e-4)
    return found


def _local_z_score(scores: Features) -> Features:
    padded = np.pad(scores, _LOCAL, mode="reflect" if len(scores) > _LOCAL else "edge")
    around = sliding_window_view(padded, 2 * _LOCAL + 1)
    found: Features = (scores - around.mean(axis=1)) / (around.std(axis=1) + 1e-2)
    return found


def _pairs(unit: Features) -> list[Features]:
    cuts = len(unit) - 1
    by_distance = {}
    for distance in range(1, 2 * _PATCH):
        cosines = np.zeros(cuts + 2 * _PATCH + 1, dtype=np.float32)
        if distance <= cuts:
            cosines[_PATCH : _PATCH + cuts + 1 - distance] = (
                unit[:-distance] * unit[distance:]
            ).sum(axis=1)
        by_distance[distance] = cosines
    at = np.arange(cuts) + _PATCH  # of the unit before the cut
    return [by_distance[a + b + 1][at - a] for a in range(_PATCH) for b in range(_PATCH)]


def _coherence(sums: Features, at: NDArray[np.int64], units: int) -> list[Features]:
    columns = []
    for width in (4, 8):
        for low, high in (
            (np.maximum(at - width, 0), at),
            (at, np.minimum(at + width, units)),
        ):
            inside = sums[high] - sums[low]
            columns.append((inside * inside).sum(axis=1) / (high - low) ** 2)
    return columns
