"""The inputs of the boundary network, one row a candidate cut, in two modes.

A candidate is the place between two units (sentences or speaker turns): the token pair
``(t, t + 1)`` is the last token of one and the first of the next. ``light`` runs no
transformer; ``contextual`` adds a frozen encoder's states to what ``light`` sees.

Differs from the paper: tokens inside a unit are no candidates (their probability is 0), and the
distance from the last cut is no input but the business of the decoder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from rag_research.extract.boundary_echoes import echo_features, lead_features
from rag_research.extract.lexical_links import lexical_links
from rag_research.extract.subject_flags import subject_flags
from rag_research.extract.surface_flags import Features, surface_flags
from rag_research.extract.unit_states import UnitStates
from rag_research.extract.window_features import directions, window_features
from rag_research.extract.word_table import WordTable

Mode = Literal["contextual", "light"]
Reading = Literal["cosines", "tokens"]  # what the contextual mode reads of the states
# Raise one when a column of that mode changes: released networks name the version they read.
VERSIONS: Mapping[Mode, int] = {"light": 1, "contextual": 2}
_WIDE = 4  # units on each side whose mean is an input of its own
_FLAG_SHIFTS = (-2, -1, 1, 2)
_COSINE_SHIFTS = (-1, 1)


def light_features(text: str, units: Sequence[tuple[int, int]], table: WordTable) -> Features:
    """Flags, lexical links, window cosines of word vectors, and the word vectors around.

    Flags and cosines of the neighbouring candidates are inputs too: two before and two after,
    one before and one after.

    Args:
        text: a document.
        units: its units.
        table: static word vectors, D dimensions.

    Shapes:
        U units -> [max(U - 1, 0), 432 + 4 * D]
    """
    words = table.read(text, units)
    meaning = table.meaning(words)
    flags = np.concatenate([surface_flags(text, units), subject_flags(text, units)], axis=1)
    links = lexical_links(words.ids, words.weights, words.starts)
    cosines = np.concatenate(
        [window_features(meaning), window_features(table.wording(words))], axis=1
    )
    blocks = [flags, links, cosines]
    blocks += [shifted(flags, by) for by in _FLAG_SHIFTS]
    blocks += [shifted(cosines, by) for by in _COSINE_SHIFTS]
    return np.concatenate([*blocks, *around(meaning)], axis=1)


def contextual_features(light: Features, states: UnitStates, reading: Reading) -> Features:
    """What ``light`` sees, cosines of the encoder's means, and with ``tokens`` the states.

    Cosines are those of windows, with the opening, and with the nearest earlier units.

    The states are those of the last token before the cut and of the first after it, and the
    means of the units before and after, and of the four units on each side: the paper's inputs.
    On a few hundred training documents they overfit, and ``cosines`` alone finds more.

    Args:
        light: of :func:`light_features`.
        states: of the same units, D dimensions.
        reading: ``cosines`` or ``tokens``.

    Shapes:
        [C, L], U units -> [C, L + 200] (``cosines``), [C, L + 200 + 6 * D] (``tokens``)
    """
    mean = states.mean.astype(np.float32)
    cosines = window_features(mean)
    blocks = [light, cosines, *(shifted(cosines, by) for by in _COSINE_SHIFTS)]
    blocks += [lead_features(mean), echo_features(mean)]
    if reading == "tokens":
        last, first = states.last[:-1].astype(np.float32), states.first[1:].astype(np.float32)
        blocks += [directions(last), directions(first), *around(mean)]
    return np.concatenate(blocks, axis=1)


def shifted(rows: Features, by: int) -> Features:
    """Row ``i`` becomes row ``i + by``; zeros where there is none."""
    found = np.zeros_like(rows)
    if by > 0:
        found[:-by] = rows[by:]
    else:
        found[-by:] = rows[:by]
    return found


def around(vectors: Features) -> list[Features]:
    """Directions of the unit before, the unit after, and the means of four on each side.

    Shapes:
        [U, D] -> four times [max(U - 1, 0), D]
    """
    count, width = vectors.shape
    if count < 2:
        return [np.zeros((0, width), np.float32)] * 4
    unit = directions(vectors)
    sums = np.concatenate([np.zeros((1, width), np.float32), np.cumsum(unit, axis=0)])
    at = np.arange(1, count)
    left = sums[at] - sums[np.maximum(at - _WIDE, 0)]
    right = sums[np.minimum(at + _WIDE, count)] - sums[at]
    return [unit[:-1], unit[1:], directions(left), directions(right)]
