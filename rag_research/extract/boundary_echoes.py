"""Whether a unit goes back to what was said long before: the opening, or any earlier unit.

Sections of a text tend to take up again what its opening announced, while sentences inside a
section lean on their neighbours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rag_research.extract.window_features import directions, z_scores

Features = NDArray[np.float32]
LEADS = (1, 3, 6)  # units of the opening
WINDOWS = (2, 4, 8)
NEAR = 8  # units before and after that count as the neighbourhood
REACH = 512  # units looked back to
_SHIFT = 2
_BLOCK = 256  # units compared at once
LEAD_COLUMNS = len(LEADS) * (3 * (2 * _SHIFT + 1) + 5 * len(WINDOWS))
ECHO_COLUMNS = 11


def lead_features(vectors: Features) -> Features:
    """Similarity to the opening of the document of what stands around each cut.

    With ``v`` the unit vectors and ``o`` the direction of the sum of the first 1, 3 or 6:
    ``s = v o`` (its mean inside the opening itself), raw, as a z-score and as a rank in the
    document, of the two units before the cut and the three after it; then for windows of 2, 4
    and 8 units the cosine with ``o`` of the window before, of the one after, their difference,
    and the z-score and rank of the one after.

    Args:
        vectors: one per unit.

    Shapes:
        [U, D] -> [max(U - 1, 0), 90]
    """
    units = len(vectors)
    if units < 2:
        return np.zeros((0, LEAD_COLUMNS), dtype=np.float32)
    unit = directions(vectors)
    sums = np.concatenate([np.zeros((1, unit.shape[1]), np.float32), np.cumsum(unit, axis=0)])
    at = np.arange(1, units)
    sides = []
    for width in WINDOWS:
        left = sums[at] - sums[np.maximum(at - width, 0)]
        right = sums[np.minimum(at + width, units)] - sums[at]
        sides.append((directions(left), directions(right)))
    columns: list[Features] = []
    for lead in LEADS:
        opening = directions(sums[min(lead, units)][None])[0]
        near = unit @ opening
        near[:lead] = near[lead:].mean() if units > lead else 0.0
        for scores in (near, z_scores(near), ranks(near)):
            padded = np.pad(scores, _SHIFT, constant_values=float(scores.mean()))
            columns += [padded[at + shift] for shift in range(2 * _SHIFT + 1)]
        for left, right in sides:
            before, after = left @ opening, right @ opening
            columns += [before, after, after - before, z_scores(after), ranks(after)]
    return np.stack(columns, axis=1).astype(np.float32)


def echo_features(vectors: Features) -> Features:
    """How near the unit after each cut comes to some earlier unit, far back or close by.

    With ``a(i)`` the highest cosine of unit ``i`` and one of the 8 before it, ``b(i)`` and one
    9 to 512 before it, ``c(i)`` and one of the 8 after it, each 0 where there is none; of the
    unit after the cut: ``a, b, c, b - a, c - a``, ``b`` of the unit before the cut and how much
    ``b`` grew, ``log(1 + n)`` of the distance n to the most similar earlier unit, and ``a``,
    ``b``, ``c`` as z-scores in the document.

    Args:
        vectors: one per unit.

    Shapes:
        [U, D] -> [max(U - 1, 0), 11]
    """
    units = len(vectors)
    if units < 2:
        return np.zeros((0, ECHO_COLUMNS), dtype=np.float32)
    unit = directions(vectors)
    found = np.concatenate([_nearest(unit, start) for start in range(0, units, _BLOCK)])
    close, far, ahead, distance = found[1:].T
    before = found[:-1, 1]
    columns = [close, far, ahead, far - close, ahead - close, before, far - before]
    columns += [np.log1p(distance), z_scores(close), z_scores(far), z_scores(ahead)]
    return np.stack(columns, axis=1).astype(np.float32)


def ranks(scores: Features) -> Features:
    """Place of each score among all, 0 the lowest and 1 the highest.

    Shapes:
        [N] -> [N]
    """
    found = np.empty(len(scores), dtype=np.float32)
    found[np.argsort(scores, kind="stable")] = np.arange(len(scores))
    found /= max(len(scores) - 1, 1)
    return found


def _nearest(unit: Features, start: int) -> Features:
    """Of a block of units: nearest close by, far back, ahead; distance to the nearest earlier."""
    rows = np.arange(start, min(start + _BLOCK, len(unit)))
    others = np.arange(max(start - REACH, 0), min(rows[-1] + 1 + NEAR, len(unit)))
    cosines = unit[rows] @ unit[others].T
    distances = rows[:, None] - others[None, :]
    back = (distances > 0) & (distances <= REACH)
    columns = []
    for inside in (
        back & (distances <= NEAR),
        back & (distances > NEAR),
        (distances < 0) & (distances >= -NEAR),
    ):
        highest = np.where(inside, cosines, -np.inf).max(axis=1)
        columns.append(np.where(np.isfinite(highest), highest, 0.0))
    nearest = np.where(back, cosines, -np.inf).argmax(axis=1)
    columns.append(np.where(back.any(axis=1), rows - others[nearest], 0))
    return np.stack(columns, axis=1).astype(np.float32)
