"""A family of runs against one reference: paired differences, corrected for their number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rag_research.evaluation.comparable import require_comparable
from rag_research.evaluation.compare import compare, metric_of
from rag_research.evaluation.results import Results
from rag_research.evaluation.statistics import Difference, holm, two_sided


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
