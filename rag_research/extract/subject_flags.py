"""Who a document is about, and whether a unit takes its subject up anew.

Sections of a text tend to open with their subject's name and go on with pronouns.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Features = NDArray[np.float32]
_WORD = re.compile(r"\w+")
_START, _OPENING, _LEADING = 5, 6, 3  # words of a unit's start; of the document's; names kept
NAMES = [
    "starts_with_title",
    "starts_with_lead_name",
    "right_title",
    "left_title",
    "second_starts_with_title",
    "right_pronouns",
    "left_pronouns",
    "second_pronouns",
    "new_names",
    "right_names",
    "new_name_share",
    "starts_with_digits",
]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SMALL = _words("the a an of in and on at for to by is was with from as it he she they his her")
_PRONOUNS = _words("he she it they his her its their this these him")


def subject_flags(text: str, units: Sequence[tuple[int, int]]) -> Features:
    """Mentions of the document's first words and most frequent names; pronouns; new names.

    Args:
        text: a document.
        units: its units.

    Returns:
        Columns as in :data:`NAMES`. "Right" is the unit after the cut, "second" the one after
        that; a name is a capitalised word that is not a unit's first.

    Shapes:
        U units -> [max(U - 1, 0), 12]
    """
    cuts = max(len(units) - 1, 0)
    found = np.zeros((cuts, len(NAMES)), dtype=np.float32)
    if not cuts:
        return found
    words = [_WORD.findall(text[start:end]) for start, end in units]
    lower = [[word.lower() for word in unit] for unit in words]
    names = [[word for word in unit[1:] if word[0].isupper()] for unit in words]
    title = {word for word in lower[0][:_OPENING] if word not in _SMALL}
    counts = Counter(word.lower() for unit in names for word in unit)
    leading = {word for word, _ in counts.most_common(_LEADING + len(_SMALL)) if word not in _SMALL}
    leading = set(sorted(leading, key=lambda word: (-counts[word], word))[:_LEADING])
    in_title = [_share(unit, title) for unit in lower]
    pronouns = [_share(unit, _PRONOUNS) for unit in lower]
    seen: set[str] = set()
    for i in range(cuts):
        seen.update(word for word in words[i] if word[0].isupper())
        start = lower[i + 1][:_START]
        second = min(i + 2, cuts)
        new = sum(word not in seen for word in names[i + 1])
        opener = sum(w[0].isupper() and w not in seen for w in words[i + 1][:1])
        size = len(words[i + 1]) + 1
        found[i] = (
            sum(word in title for word in start),
            sum(word in leading for word in start),
            in_title[i + 1],
            in_title[i],
            any(word in title for word in lower[second][:_START]),
            pronouns[i + 1],
            pronouns[i],
            pronouns[second],
            new,
            len(names[i + 1]) / size,
            (new + opener) / size,
            sum(word.isdigit() for word in words[i + 1][:4]),
        )
    return found


def _share(unit: Sequence[str], among: set[str] | frozenset[str]) -> float:
    return sum(word in among for word in unit) / (len(unit) + 1)
