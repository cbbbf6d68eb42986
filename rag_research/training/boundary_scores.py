"""Figures on validation documents, and the threshold and span length chosen by them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rag_research.extract.boundaries import DecodingConfig, decode
from rag_research.extract.cut_scores import BoundaryScores, score_words
from rag_research.training.boundary_rows import ValidationDocument

Logits = NDArray[np.float32]
Rows = NDArray[np.int64]
_THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(2, 19))


def average_precision(targets: NDArray[np.float32], logits: Logits) -> float:
    """Mean over the positives of the precision at their rank: ``sum_n (R_n - R_n-1) P_n``.

    Candidates of equal logits share a rank. 0 without any positive.

    Args:
        targets: above one half is positive. [N]
        logits: higher is more likely. [N]
    """
    positive = targets > 0.5
    if not positive.any():
        return 0.0
    order = np.argsort(-logits, kind="stable")
    hits = np.cumsum(positive[order])
    last = np.append(np.diff(logits[order]) != 0, True)  # of each group of equal logits
    found, ranks = hits[last], np.flatnonzero(last) + 1
    gained = np.diff(np.concatenate([[0], found]))
    return float((gained * found / ranks).sum() / positive.sum())


def by_kind(documents: Sequence[ValidationDocument]) -> dict[str, tuple[list[int], Rows]]:
    """For each kind, the numbers of its documents and of their candidates, in order."""
    sizes = np.cumsum([0, *(document.candidates for document in documents)])
    found = {}
    for kind in sorted({document.kind for document in documents}):
        numbers = [i for i, document in enumerate(documents) if document.kind == kind]
        ranges = [np.arange(sizes[i], sizes[i + 1]) for i in numbers]
        found[kind] = (numbers, np.concatenate(ranges))
    return found


def score(
    documents: Sequence[ValidationDocument], logits: Logits, decoding: DecodingConfig
) -> BoundaryScores:
    """Figures of the cuts that ``decoding`` makes.

    Args:
        documents: whose candidates lie one after another in ``logits``.
        logits: of all candidates. [N]
        decoding: decoder and threshold.
    """
    items = []
    position = 0
    for document in documents:
        own = logits[position : position + document.candidates]
        position += len(own)
        before = np.cumsum(document.words)
        cuts = before[decode(own, document.words, decoding)]
        items.append((int(before[-1]), document.gold, cuts))
    return score_words(items)


def objective(figures: BoundaryScores) -> float:
    """What a decoding is chosen to minimise: Pk + WindowDiff - F1.

    Pk alone is best served by cutting hardly anything where cuts are rare.
    """
    return figures.pk + figures.window_diff - figures.f1


def choose_decoding(
    documents: Sequence[ValidationDocument],
    logits: Logits,
    least_words: Sequence[int] = (0, 60, 120),
) -> DecodingConfig:
    """The threshold and least span length with the best :func:`objective`, by kind.

    The objective is averaged over the kinds of documents, so that many meetings do not decide
    for encyclopedia articles. No greatest length: that is for who uses the spans.
    """
    parts = [
        ([documents[i] for i in numbers], logits[rows])
        for numbers, rows in by_kind(documents).values()
    ]

    def cost(decoding: DecodingConfig) -> float:
        return float(np.mean([objective(score(own, rows, decoding)) for own, rows in parts]))

    options = [
        DecodingConfig("viterbi", threshold, least, 0)
        for threshold in _THRESHOLDS
        for least in least_words
    ]
    return min(options, key=cost)
