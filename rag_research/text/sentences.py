"""A sentence splitter that needs no model and loses no character."""

from __future__ import annotations

import itertools
import re

_END = re.compile(
    r"""(?:[.!?]+|[。！？]+|[؟۔।]+|…)      # what may end a sentence
        ["'”’»)\]」』）]*                    # closing marks belong to it
    """,
    re.VERBOSE,
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WIDE = frozenset("。！？؟۔।")
_ABBREVIATIONS = _words(
    "mr mrs ms dr prof st sr jr gen col lt capt sgt rev hon gov sen rep vs etc inc ltd co corp "
    "no nos vol pp fig figs al approx dept est ed eds jan feb mar apr jun jul aug sep sept oct "
    "nov dec e.g i.e cf c ca b d r u.s u.k a.m p.m"
)
_LAST_WORD = re.compile(r"([^\W_][\w.]*)\.$")
_PARAGRAPH = re.compile(r"\n\s*\n\s*")


def sentence_offsets(text: str) -> list[tuple[int, int]]:
    """Character ranges of the sentences; joined, they give ``text`` back.

    White space after a sentence belongs to it. A full stop after an abbreviation, an initial,
    or before a lower-case word does not end a sentence; an empty line always does.

    Args:
        text: any text; CJK, Arabic and Devanagari sentence marks are known.

    Returns:
        ``[(start, end), ...]`` in order, without gaps; empty for an empty text.
    """
    cuts = {m.end() for m in _PARAGRAPH.finditer(text)}
    for match in _END.finditer(text):
        end = _after_space(text, match.end())
        if end < len(text) and _ends_sentence(text, match, end):
            cuts.add(end)
    edges = [0, *sorted(c for c in cuts if 0 < c < len(text)), len(text)]
    pairs = list(itertools.pairwise(edges))
    return _without_blank([p for p in pairs if p[0] < p[1]], text)


def split_sentences(text: str) -> list[str]:
    """The sentences of ``text``, stripped, without empty ones."""
    pieces = (text[start:end].strip() for start, end in sentence_offsets(text))
    return [piece for piece in pieces if piece]


def _after_space(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def _ends_sentence(text: str, match: re.Match[str], end: int) -> bool:
    mark = match.group()
    if mark[0] in _WIDE:
        return True
    if end == match.end():  # no space follows: 3.5, example.org
        return False
    if text[end].islower():
        return False
    if mark != ".":
        return True
    word = _LAST_WORD.search(text, max(0, match.start() - 20), match.start() + 1)
    if word is None:
        return True
    last = word[1].lower()
    initial = len(last) == 1 and word[1].isupper() and word[1] != "I"
    return not (initial or last in _ABBREVIATIONS)


def _without_blank(pairs: list[tuple[int, int]], text: str) -> list[tuple[int, int]]:
    """Give a range of white space only to the sentence before it (or, at the start, after)."""
    joined: list[tuple[int, int]] = []
    for start, end in pairs:
        if joined and (not text[start:end].strip() or not text[slice(*joined[-1])].strip()):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined
