"""Intervals and paired comparisons by the bootstrap (Efron and Tibshirani 1993, ch. 13, 16)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag_research.errors import ConfigError

_CELLS = 4_000_000  # most drawn indices held at once


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its interval.

    Args:
        mean: of the values as they are.
        low: lower end.
        high: upper end.
        n: how many values.
    """

    mean: float
    low: float
    high: float
    n: int

    @property
    def half_width(self) -> float:
        """Half the length of the interval, what a table prints after ±."""
        return (self.high - self.low) / 2


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of two systems on the same questions.

    Args:
        interval: of ``mean(a) - mean(b)``.
        opposite: share of resamples in which the difference has the other sign or is zero.
    """

    interval: Interval
    opposite: float


def bootstrap_interval(
    values: Sequence[float], samples: int = 1000, seed: int = 0, level: float = 0.95
) -> Interval:
    """Percentile bootstrap interval of a mean.

    Args:
        values: one a question, at least one.
        samples: resamples with replacement.
        seed: of the resampling.
        level: share of resampled means inside the interval.

    Raises:
        ConfigError: no values, no samples, or a level outside (0, 1).
    """
    data = np.asarray(values, dtype=np.float64)
    means = _resampled_means(data, samples, seed, level)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(data.mean()), float(low), float(high), len(data))


def paired_bootstrap(
    a: Sequence[float],
    b: Sequence[float],
    samples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> Difference:
    """Bootstrap of the mean difference, questions drawn once for both systems.

    Args:
        a: values of one system.
        b: values of the other on the same questions in the same order.
        samples: resamples with replacement.
        seed: of the resampling.
        level: share of resampled differences inside the interval.

    Raises:
        ConfigError: lengths differ, or as for :func:`bootstrap_interval`.
    """
    if len(a) != len(b):
        raise ConfigError(
            f"A paired comparison needs the same questions: got {len(a)} and {len(b)} values."
        )
    gaps = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    means = _resampled_means(gaps, samples, seed, level)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    mean = float(gaps.mean())
    opposite = float((means <= 0).mean() if mean > 0 else (means >= 0).mean())
    return Difference(Interval(mean, float(low), float(high), len(gaps)), opposite)


def _resampled_means(
    data: NDArray[np.float64], samples: int, seed: int, level: float
) -> NDArray[np.float64]:
    if not len(data) or samples < 1 or not 0 < level < 1:
        raise ConfigError(
            "A bootstrap needs values, samples >= 1 and 0 < level < 1; got "
            f"{len(data)} values, {samples} samples, level {level}."
        )
    random = np.random.default_rng(seed)
    rows = max(1, _CELLS // len(data))
    pieces = []
    for start in range(0, samples, rows):
        size = (min(rows, samples - start), len(data))
        pieces.append(data[random.integers(0, len(data), size=size)].mean(axis=1))
    return np.concatenate(pieces)


def two_sided(difference: Difference, samples: int) -> float:
    """Twice the share of resamples on the other side of zero, none counted as one.

    Args:
        difference: from :func:`paired_bootstrap`.
        samples: resamples it was made with.
    """
    return min(1.0, 2 * (difference.opposite * samples + 1) / (samples + 1))


def holm(values: Sequence[float]) -> list[float]:
    """p-values corrected for how many there are (Holm 1979), in the order given.

    Args:
        values: uncorrected ones, of one family of comparisons.
    """
    corrected = [0.0] * len(values)
    largest = 0.0
    for place, number in enumerate(sorted(range(len(values)), key=lambda n: values[n])):
        largest = max(largest, min(1.0, (len(values) - place) * values[number]))
        corrected[number] = largest
    return corrected
