"""A family of runs against one reference: paired differences, corrected for their number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rag_research.errors import DataError
from rag_research.evaluation.comparable import require_comparable
from rag_research.evaluation.compare import (
    compare,
    metric_of,
    paired_values,
    shared_questions,
)
from rag_research.evaluation.results import Results
from rag_research.evaluation.statistics import Difference, holm, paired_bootstrap, two_sided

POOLED = "all"


@dataclass(frozen=True, slots=True)
class Gap:
    """How far one run is from the reference in one column.

    Args:
        name: of the run.
        metric: the column.
        difference: mean of run minus reference over the questions.
        low: lower end of the 95 % bootstrap interval.
        high: upper end.
        n: questions with a value in both runs.
        p: two-sided, of this difference alone.
        holm: ``p`` corrected over all runs of the family in this column (Holm 1979).
    """

    name: str
    metric: str
    difference: float
    low: float
    high: float
    n: int
    p: float
    holm: float


def gaps_to(reference: Results, others: Sequence[Results], samples: int = 1000) -> list[Gap]:
    """Every run against the reference, column by column.

    Args:
        reference: what the others are compared with.
        others: the family, each under its own ``name``.
        samples: bootstrap resamples.

    Raises:
        DataError: two runs cannot be compared; see
            :func:`~rag_research.evaluation.comparable.require_comparable`.
    """
    require_comparable([reference, *others])
    columns = correctness_columns(reference)
    found = {run.name: compare(run, reference, columns, samples) for run in others}
    gaps: list[Gap] = []
    for column in columns:
        own = {name: rows[column] for name, rows in found.items() if column in rows}
        plain = [two_sided(difference, samples) for difference in own.values()]
        for (name, difference), p, corrected in zip(own.items(), plain, holm(plain), strict=True):
            gaps.append(_gap(name, column, difference, p, corrected))
    return gaps


def pooled_gaps(pairs: Sequence[tuple[Results, Results]], samples: int = 1000) -> list[Gap]:
    """One system against another on several data sets, and over all their questions together.

    Args:
        pairs: a run and its reference for each data set.
        samples: bootstrap resamples.

    Returns:
        For each column that all runs have, a gap a data set under its name, corrected over the
        data sets, and one named :data:`POOLED` in which every question counts once; its ``holm``
        is its ``p``, as it is a single test.

    Raises:
        DataError: the runs of a pair cannot be compared, or two pairs are on one data set.
    """
    names = [run.dataset for run, _ in pairs]
    if len(set(names)) < len(names):
        raise DataError(
            f"Pooling needs one pair of runs for each data set, got {', '.join(names)}: the same "
            "questions would count twice."
        )
    for run, reference in pairs:
        require_comparable([reference, run])
    first_columns, *others = (correctness_columns(run) for pair in pairs for run in pair)
    columns = [column for column in first_columns if all(column in other for other in others)]
    shared = [shared_questions(*pair) for pair in pairs]
    gaps: list[Gap] = []
    for column in columns:
        values = [
            paired_values(*pair, column, asked) for pair, asked in zip(pairs, shared, strict=True)
        ]
        single = [paired_bootstrap(*own, samples) for own in values]
        plain = [two_sided(difference, samples) for difference in single]
        for row in zip(names, single, plain, holm(plain), strict=True):
            gaps.append(_gap(row[0], column, *row[1:]))
        first, second = ([x for own in side for x in own] for side in zip(*values, strict=True))
        whole = paired_bootstrap(first, second, samples)
        p = two_sided(whole, samples)
        gaps.append(_gap(POOLED, column, whole, p, p))
    return gaps


def correctness_columns(run: Results) -> list[str]:
    """Columns that say how right answers are and that have a value, in order."""
    return [
        column
        for column, interval in run.metrics.items()
        if interval is not None and metric_of(column).wrong is not None
    ]


def _gap(name: str, column: str, difference: Difference, p: float, corrected: float) -> Gap:
    interval = difference.interval
    return Gap(name, column, interval.mean, interval.low, interval.high, interval.n, p, corrected)
