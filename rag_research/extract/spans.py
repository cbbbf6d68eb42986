"""The Semantic Topology Mapper: documents -> verbatim spans that tile them byte for byte."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, runtime_checkable

from rag_research.errors import DataError
from rag_research.text.chunks import WORD, chunk
from rag_research.text.units import unit_offsets
from rag_research.types import Passage, Span

Interval = tuple[int, int]
_NUMBERED = re.compile(r"(?P<document>.+)#(?P<number>\d+)", re.DOTALL)
_LEAST_OVERLAP = 16  # characters; a shorter agreement of two chunks is chance


@runtime_checkable
class Segmenter(Protocol):
    """Cuts texts into consecutive pieces. No generative model, so no LLM token is spent."""

    @property
    def identity(self) -> Mapping[str, str]:
        """Everything that decides where the cuts fall, for fingerprints."""
        ...

    def segment(self, texts: Sequence[str]) -> list[list[Interval]]:
        """Cut each text.

        Args:
            texts: N strings; an empty one gives no piece.

        Returns:
            For each text the ``(start, end)`` character ranges of its pieces, in order; the
            first starts at 0, each next one where the one before ends, the last at the end.
        """
        ...


@dataclass(frozen=True, slots=True)
class Source:
    """A document as the mapper reads it.

    Args:
        id: what the spans name as their document.
        title: of its passages.
        text: whole, overlaps of chunks merged.
        passages: id -> character range in ``text`` of the passages it was put together from.
    """

    id: str
    title: str
    text: str
    passages: Mapping[str, Interval]


def map_spans(sources: Sequence[Source], segmenter: Segmenter) -> list[list[Span]]:
    """The Semantic Nodes of each document.

    ``"".join(span.text for span in spans) == source.text`` for each document.

    Args:
        sources: see :func:`merge_passages`; duplicates are kept.
        segmenter: what finds the cuts.

    Raises:
        DataError: the segmenter's pieces do not tile a text.
    """
    found = segmenter.segment([source.text for source in sources])
    spans = []
    for source, intervals in zip(sources, found, strict=True):
        check_tiling(source.text, intervals)
        spans.append([Span(source.id, a, b, source.text[a:b]) for a, b in intervals])
    return spans


def check_tiling(text: str, intervals: Sequence[Interval]) -> None:
    """Refuse pieces that leave a gap, overlap or are empty.

    Raises:
        DataError: says where.
    """
    position = 0
    for start, end in intervals:
        if start != position or end <= start:
            raise DataError(
                f"A segmenter gave the piece ({start}, {end}) where one starting at {position} and "
                "ending later was expected. Pieces have to tile the text."
            )
        position = end
    if position != len(text):
        raise DataError(f"A segmenter's pieces end at {position}, the text at {len(text)}.")


def merge_passages(passages: Iterable[Passage]) -> list[Source]:
    """Put the chunks of one document back together, in the order of first appearance.

    Passages ``NAME#1``, ``NAME#2``, ... of one title are chunks of the document ``NAME`` (that
    is how folders are read). Where titles differ the number is part of a name, as of an issue
    in a tracker, and each is a document of its own. Where the end of one chunk is the start of
    the next, the shared part is kept once, so a span is never cut by the chunking. Chunks with
    a gap in their numbers, or without a common part, are joined with a line break, which then
    belongs to no passage. Any other passage is a document of its own.
    """
    groups: dict[str, list[tuple[int, Passage]]] = {}
    for passage in passages:
        numbered = _NUMBERED.fullmatch(passage.id)
        name = numbered["document"] if numbered else passage.id
        groups.setdefault(name, []).append((int(numbered["number"]) if numbered else 0, passage))
    merged: list[Source] = []
    for name, group in groups.items():
        one_title = len({passage.title for _, passage in group}) == 1
        documents = [group] if one_title else [[item] for item in group]
        merged += [_merge(name, document) for document in documents]
    return merged


def _merge(name: str, group: list[tuple[int, Passage]]) -> Source:
    if len(group) == 1:  # one chunk keeps its own id, so spans name what was retrieved
        only = group[0][1]
        return Source(only.id, only.title, only.text, {only.id: (0, len(only.text))})
    ordered = sorted(group, key=lambda item: item[0])
    text = ""
    places: dict[str, Interval] = {}
    before: tuple[int, str] | None = None
    for number, passage in ordered:
        shared = 0
        if before is not None:
            if number == before[0] + 1:
                shared = overlap(before[1], passage.text)
            if not shared:
                text += "\n"
        start = len(text) - shared
        text += passage.text[shared:]
        places[passage.id] = (start, len(text))
        before = (number, passage.text)
    return Source(name, ordered[0][1].title, text, places)


def overlap(left: str, right: str) -> int:
    """Length of the longest end of ``left`` that starts ``right``; 0 when it is short.

    Linear time: the failure function of Knuth, Morris and Pratt over ``right``.
    """
    left = left[-len(right) :] if right else ""
    if not left:
        return 0
    failure = [0] * len(right)
    matched = 0
    for i in range(1, len(right)):
        while matched and right[i] != right[matched]:
            matched = failure[matched - 1]
        matched += right[i] == right[matched]
        failure[i] = matched
    matched = 0
    for character in left:
        if matched == len(right):
            matched = failure[matched - 1]
        while matched and character != right[matched]:
            matched = failure[matched - 1]
        matched += character == right[matched]
    return matched if matched >= min(_LEAST_OVERLAP, len(right)) else 0


def bounded(text: str, spans: Sequence[Interval], words: int) -> list[Interval]:
    """Spans of at most so many words: longer ones are cut into pieces of about one length.

    Cuts lie between sentences; within one only where it alone is too long.

    Args:
        text: what the spans tile.
        spans: in order.
        words: counted as :func:`rag_research.text.chunks.chunk` counts them; at least 1.

    Returns:
        Intervals that tile the text.
    """
    found: list[Interval] = []
    for start, end in spans:
        total = len(WORD.findall(text, start, end))
        if total <= words:
            found.append((start, end))
            continue
        enough = -(-total // -(-total // words))
        edges, held = [start], 0
        for first, size in _units(text, start, end, words):
            if held and (held >= enough or held + size > words):
                edges.append(first)
                held = 0
            held += size
        found += pairwise([*edges, end])
    return found


def _units(text: str, start: int, end: int, words: int) -> Iterator[tuple[int, int]]:
    """Where sentences of a span start, and their words; those that are too long in windows."""
    for first, last in unit_offsets(text[start:end]):
        unit = text[start + first : start + last]
        for a, b in chunk(unit, words, 0) or [(0, len(unit))]:
            yield start + first + a, len(WORD.findall(unit, a, b))
