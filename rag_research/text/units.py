"""Sentences and speaker turns: the units between which a text may change its subject."""

from __future__ import annotations

import re
from collections import Counter

from rag_research.text.sentences import sentence_offsets

_SPEAKER = re.compile(r"(?:(?<=\s)|^)[^\W\d_a-z][\w.'’-]*(?: [^\W\d_a-z][\w.'’-]*){0,3}:(?=\s)")
_LEAST_TURNS = 3


def unit_offsets(text: str) -> list[tuple[int, int]]:
    """Character ranges of sentences, further cut where a speaker's turn starts.

    A turn starts at one to four capitalised words and a colon (``Project Manager:``) that occur
    at least three times in the text; so a single ``Note:`` cuts nothing.

    Returns:
        ``[(start, end), ...]`` in order, without gaps; empty for an empty text.
    """
    units = sentence_offsets(text)
    turns = turn_starts(text)
    if not turns:
        return units
    cuts = sorted({start for start, _ in units} | set(turns))
    return list(zip(cuts, [*cuts[1:], len(text)], strict=True))


def turn_starts(text: str) -> list[int]:
    """Where speakers' turns start, in order."""
    found = list(_SPEAKER.finditer(text))
    counts = Counter(match.group() for match in found)
    return [match.start() for match in found if counts[match.group()] >= _LEAST_TURNS]
