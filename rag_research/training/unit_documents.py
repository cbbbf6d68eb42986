"""Documents as units with labels, and new documents made of the segments of several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random

import numpy as np
from numpy.typing import NDArray

from rag_research.corpus.segmented import SegmentedDocument
from rag_research.extract.unit_states import UnitStates
from rag_research.text.units import unit_offsets

_NEAR = 2  # characters a true cut may lie from a unit's start


@dataclass(frozen=True, slots=True)
class UnitDocument:
    """A document cut into units, with what is true of the candidates between them.

    Args:
        text: the whole text.
        units: character ranges that tile it. [U]
        labels: 1 where a segment ends after the unit. [max(U - 1, 0)]
        states: of a frozen encoder, or ``None`` for the light mode.
    """

    text: str
    units: list[tuple[int, int]]
    labels: NDArray[np.float32]
    states: UnitStates | None = None

    @property
    def segments(self) -> list[range]:
        """Numbers of the units of each segment."""
        edges = [0, *(int(i) + 1 for i in np.flatnonzero(self.labels > 0.5)), len(self.units)]
        return [range(a, b) for a, b in pairwise(edges)]


def unit_document(document: SegmentedDocument) -> UnitDocument:
    """Find the units; a true cut that no unit starts at (about one in twenty) has no label."""
    units = unit_offsets(document.text)
    starts = np.array([start for start, _ in units[1:]], dtype=np.int64)
    labels = np.zeros(len(starts), dtype=np.float32)
    for cut in document.cuts:
        at = int(np.searchsorted(starts, cut - _NEAR))
        if at < len(starts) and starts[at] <= cut + _NEAR:
            labels[at] = 1.0
    return UnitDocument(document.text, units, labels)


def rejoined(
    documents: Sequence[UnitDocument], random: Random, foreign: float = 0.1
) -> Iterator[UnitDocument]:
    """One new document from each, its segments in another order: joins nobody wrote.

    Each join sets the end of one segment against the start of another that did not follow
    it, so ends and starts keep their wording while their meeting is new.

    Args:
        documents: of one kind.
        random: the source of all choices.
        foreign: share of segments that come from another document.
    """
    pools = [(document, segment) for document in documents for segment in document.segments]
    for document in documents:
        own = [(document, segment) for segment in document.segments]
        chosen = [random.choice(pools) if random.random() < foreign else item for item in own]
        random.shuffle(chosen)
        yield join_segments(chosen)


def join_segments(chosen: Sequence[tuple[UnitDocument, range]]) -> UnitDocument:
    """Put segments of documents one after another, joined by single spaces."""
    pieces: list[str] = []
    units: list[tuple[int, int]] = []
    labels: list[float] = []
    position = 0
    for source, segment in chosen:
        for number in segment:
            start, end = source.units[number]
            last = number == segment[-1]
            piece = source.text[start:end].rstrip() + " " if last else source.text[start:end]
            pieces.append(piece)
            units.append((position, position + len(piece)))
            position += len(piece)
            labels.append(float(last))
    states = _joined_states([(source.states, segment) for source, segment in chosen])
    return UnitDocument("".join(pieces), units, np.array(labels[:-1], dtype=np.float32), states)


def _joined_states(chosen: Sequence[tuple[UnitStates | None, range]]) -> UnitStates | None:
    parts = [(states, slice(s.start, s.stop)) for states, s in chosen if states is not None]
    if len(parts) < len(chosen):
        return None
    mean, first, last = (
        np.concatenate([getattr(states, name)[rows] for states, rows in parts])
        for name in ("mean", "first", "last")
    )
    return UnitStates(mean, first, last)
