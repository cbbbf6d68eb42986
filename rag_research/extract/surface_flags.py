"""What the letters themselves say about a cut: openers, years, quotes, speakers, line breaks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import log1p

import numpy as np
from numpy.typing import NDArray

from rag_research.text.units import turn_starts

Features = NDArray[np.float32]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PRONOUNS = _words(
    "he she it they this these those that his her its their such both who which him them there"
)
_CONNECTIVES = _words(
    "however but and also moreover furthermore then thus therefore hence so yet nevertheless "
    "additionally meanwhile instead similarly likewise consequently finally otherwise or because"
)
_DETERMINERS = _words("the a an")
_PREPOSITIONS = _words(
    "in on at by during after before since from when while until as for with following under"
)
_FUNCTION = _PRONOUNS | _CONNECTIVES | _DETERMINERS | _PREPOSITIONS | _words("i you we what")
_TURNING = _words("okay ok right alright now next well anyway let moving thank thanks question")
_TOKEN = re.compile(r"\w+")
_YEAR = re.compile(r"\b(?:1[0-9]|20)\d\d\b")
_MARKER = re.compile(r"\s*(?:[-–•*·]|\(?\d{1,2}[.)])\s")
_OPENING, _CLOSING = "“«「『", "”»」』"
NAMES = [
    "left_words",
    "right_words",
    "pronoun",
    "connective",
    "determiner",
    "preposition",
    "named",
    "turning",
    "number",
    "right_year",
    "left_year",
    "year_back",
    "year_forward",
    "same_year",
    "ends_stop",
    "ends_ask",
    "ends_quote",
    "ends_colon",
    "ends_bracket",
    "ends_letter",
    "starts_quote",
    "inside_quote",
    "inside_bracket",
    "line_break",
    "empty_line",
    "speaker",
    "speaker_change",
    "new_speaker",
    "marker",
    "position",
    "from_start",
    "to_end",
    "units",
]
NEWLINE_COLUMNS = (NAMES.index("line_break"), NAMES.index("empty_line"))


def surface_flags(text: str, units: Sequence[tuple[int, int]]) -> Features:
    """Flags of the cut between each unit and the next.

    Args:
        text: a document.
        units: its units, see :func:`rag_research.text.units.unit_offsets`.

    Returns:
        Columns as in :data:`NAMES`: counts as ``log(1 + n)``, the rest 0 or 1 (``year_back``:
        the next unit names a year before the latest of the last ten units; ``position``:
        share of the document before the cut).

    Shapes:
        U units -> [max(U - 1, 0), F]
    """
    count = len(units)
    found = np.zeros((max(count - 1, 0), len(NAMES)), dtype=np.float32)
    if count < 2:
        return found
    speakers = _Speakers(text)
    pieces = [text[start:end] for start, end in units]
    words = [_TOKEN.findall(piece) for piece in pieces]
    years = [[int(y) for y in _YEAR.findall(piece)] for piece in pieces]
    quotes = brackets = 0
    for i in range(count - 1):
        left, right = pieces[i], pieces[i + 1]
        quotes += left.count('"') % 2
        quotes += sum(map(left.count, _OPENING)) - sum(map(left.count, _CLOSING))
        quotes = max(quotes, 0) % 8
        brackets = max(brackets + left.count("(") - left.count(")"), 0)
        found[i] = (
            log1p(len(words[i])),
            log1p(len(words[i + 1])),
            *_opener(words[i + 1]),
            *_years(years[max(i - 9, 0) : i + 1], years[i + 1]),
            *_ending(left),
            right[0] in "\"'“‘«「『",
            quotes % 2,
            brackets > 0,
            *_gap(left),
            *speakers.at(units[i + 1][0]),
            _MARKER.match(right) is not None,
            (i + 1) / count,
            log1p(i),
            log1p(count - i - 2),
            log1p(count),
        )
    return found


def _opener(words: Sequence[str]) -> tuple[float, ...]:
    if not words:
        return (0.0,) * 7
    first = words[0].lower()
    named = words[0][0].isupper() and first not in _FUNCTION
    turning = sum(word.lower() in _TURNING for word in words[:8])
    return (
        first in _PRONOUNS,
        first in _CONNECTIVES,
        first in _DETERMINERS,
        first in _PREPOSITIONS,
        named,
        log1p(turning),
        words[0].isdigit(),
    )


def _years(before: Sequence[Sequence[int]], right: Sequence[int]) -> tuple[float, ...]:
    known = [year for years in before for year in years]
    if not right or not known:
        return (bool(right), bool(before[-1]), 0.0, 0.0, 0.0)
    latest = max(known)
    return (1.0, bool(before[-1]), right[0] < latest, right[0] > latest, right[0] == known[-1])


def _ending(left: str) -> tuple[float, ...]:
    end = left.rstrip()[-1:]
    stop = end in (".", "。", "।", "۔")
    ask = end in ("?", "!", "？", "！", "؟")
    return (stop, ask, end in ("\"'”’»」』"), end == ":", end in (")", "]", "}"), end.isalnum())


def _gap(left: str) -> tuple[float, float]:
    breaks = left[len(left.rstrip()) :].count("\n")
    return (breaks > 0, breaks > 1)


class _Speakers:
    """Who speaks at a position, and whether that changed."""

    def __init__(self, text: str) -> None:
        self._label = {start: text[start : text.index(":", start)] for start in turn_starts(text)}
        self._last = ""
        self._seen: set[str] = set()

    def at(self, start: int) -> tuple[float, float, float]:
        """Whether a turn starts here, another speaker's, a new speaker's; call in order."""
        label = self._label.get(start)
        if label is None:
            return (0.0, 0.0, 0.0)
        answer = (1.0, float(label != self._last), float(label not in self._seen))
        self._last = label
        self._seen.add(label)
        return answer
