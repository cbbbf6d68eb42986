"""How well cuts agree with true ones: Pk, WindowDiff, boundary F1."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag_research.text.chunks import WORD

Cuts = Sequence[int] | NDArray[np.int64]
TOLERANCE = 2  # words


@dataclass(frozen=True, slots=True)
class BoundaryScores:
    """Figures of one or the mean of several documents, in percent.

    Args:
        pk: lower is better.
        window_diff: lower is better.
        precision: of cuts, within the tolerance.
        recall: of true cuts.
        f1: their harmonic mean, over the counts of all documents.
        cuts: predicted cuts for each true one.
    """

    pk: float
    window_diff: float
    precision: float
    recall: float
    f1: float
    cuts: float


def cut_words(text: str, cuts: Sequence[int]) -> tuple[int, NDArray[np.int64]]:
    """Number of words of ``text``, and at each character cut how many stand before it.

    Words are runs of non-space characters (single characters in scripts without spaces), so
    the unit does not depend on any tokenizer.
    """
    starts = np.array([match.start() for match in WORD.finditer(text)], dtype=np.int64)
    return len(starts), np.searchsorted(starts, np.asarray(cuts, dtype=np.int64))


def window(length: int, true: Cuts) -> int:
    """``k``: half the mean length of the true segments, at least 2 (Beeferman et al. 1999)."""
    return max(2, round(length / (len(true) + 1) / 2))


def pk(length: int, true: Cuts, predicted: Cuts, k: int | None = None) -> float:
    """Share of word pairs at distance k that one side puts in one segment and the other not.

    ``Pk = mean_i [same_true(i, i+k) != same_predicted(i, i+k)]``, i = 0 .. N-k-1; 0 when the
    text is not longer than k.

    Args:
        length: N, words of the text.
        true: numbers of words before each true cut, in (0, N).
        predicted: the same for predicted cuts.
        k: see :func:`window`.

    Source: Beeferman, Berger and Lafferty 1999.
    """
    counts = _crossings(length, true, predicted, k or window(length, true))
    return float(np.mean((counts[0] > 0) != (counts[1] > 0))) if len(counts[0]) else 0.0


def window_diff(length: int, true: Cuts, predicted: Cuts, k: int | None = None) -> float:
    """Share of windows of k words in which the numbers of cuts differ.

    Args:
        length: N, words of the text.
        true: numbers of words before each true cut.
        predicted: the same for predicted cuts.
        k: see :func:`window`.

    Source: Pevzner and Hearst 2002.
    """
    counts = _crossings(length, true, predicted, k or window(length, true))
    return float(np.mean(counts[0] != counts[1])) if len(counts[0]) else 0.0


def matched_cuts(true: Cuts, predicted: Cuts, tolerance: int = TOLERANCE) -> int:
    """Most pairs of a true and a predicted cut at most ``tolerance`` words apart, each used once.

    Taking, in order, the earliest partner that is near enough gives the maximum.
    """
    predicted = sorted(predicted)
    matched = at = 0
    for cut in sorted(true):
        while at < len(predicted) and predicted[at] < cut - tolerance:
            at += 1
        if at < len(predicted) and predicted[at] <= cut + tolerance:
            matched += 1
            at += 1
    return matched


def score_cuts(
    texts: Sequence[str], true: Sequence[Sequence[int]], predicted: Sequence[Sequence[int]]
) -> BoundaryScores:
    """Mean Pk and WindowDiff over documents, and precision, recall, F1 over all their cuts.

    Args:
        texts: N documents.
        true: character positions of the true cuts of each.
        predicted: of the predicted ones; positions at a text's ends do not count.
    """
    items = []
    for text, wanted, given in zip(texts, true, predicted, strict=True):
        length, gold = cut_words(text, sorted(wanted))
        items.append((length, gold, cut_words(text, sorted(given))[1]))
    return score_words(items)


def score_words(items: Iterable[tuple[int, Cuts, Cuts]]) -> BoundaryScores:
    """:func:`score_cuts` for documents whose cuts are known as numbers of words.

    Args:
        items: for each document its length in words, the true and the predicted cuts.
    """
    errors: list[tuple[float, float]] = []
    matched = expected = found = 0
    for length, gold, given in items:
        cuts = np.unique(np.asarray(given, dtype=np.int64))
        cuts = cuts[(cuts > 0) & (cuts < length)]
        errors.append((pk(length, gold, cuts), window_diff(length, gold, cuts)))
        matched += matched_cuts(gold, cuts)
        expected += len(gold)
        found += len(cuts)
    mean = np.mean(errors, axis=0) if errors else np.zeros(2)
    precision = matched / found if found else 0.0
    recall = matched / expected if expected else 0.0
    f1 = 2 * precision * recall / (precision + recall) if matched else 0.0
    return BoundaryScores(
        pk=100 * float(mean[0]),
        window_diff=100 * float(mean[1]),
        precision=100 * precision,
        recall=100 * recall,
        f1=100 * f1,
        cuts=found / expected if expected else 0.0,
    )


def _crossings(
    length: int, true: Cuts, predicted: Cuts, k: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cuts between words i and i + k, for all i, on both sides."""
    starts = np.arange(max(length - k, 0))

    def crossed(cuts: Cuts) -> NDArray[np.int64]:
        before = np.zeros(length + 1, dtype=np.int64)
        np.add.at(before, np.asarray(cuts, dtype=np.int64), 1)
        upto = np.cumsum(before)
        found: NDArray[np.int64] = upto[starts + k] - upto[starts]
        return found

    return crossed(true), crossed(predicted)
