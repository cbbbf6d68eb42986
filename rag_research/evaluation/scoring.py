"""From records to columns of values and their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag_research.config.schema import EvaluationConfig
from rag_research.evaluation.metrics import Column, columns
from rag_research.evaluation.records import Record
from rag_research.evaluation.statistics import Interval, bootstrap_interval
from rag_research.types import Question

Values = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Scores:
    """What the metrics say.

    Args:
        by_question: question id -> column -> value, answered questions only.
        intervals: column -> mean with interval; ``None`` for a column that applies to no
            question.
        versions: metric name -> version.
    """

    by_question: Mapping[str, Values]
    intervals: Mapping[str, Interval | None]
    versions: Mapping[str, int]


def score(
    answered: Sequence[tuple[Question, Record]],
    failed: Sequence[Question],
    config: EvaluationConfig,
    seed: int,
) -> Scores:
    """Score a run.

    A failed question counts as wrong (0) in columns of correctness where it has gold data: a
    system that fails on hard questions must not look better for it. Questions a metric does
    not apply to (no gold known) are left out of its column, and the interval's ``n`` shows it.

    Args:
        answered: questions with their records.
        failed: questions that ended in an error.
        config: which metrics, cut-offs and how many resamples.
        seed: of the bootstrap.

    Raises:
        RagResearchError: a metric raised.
    """
    asked = columns(config)
    by_question: dict[str, dict[str, float | None]] = {
        question.id: {c.key: c.value(record.answer, question) for c in asked}
        for question, record in answered
    }
    intervals = {}
    for column in asked:
        values = [v for row in by_question.values() if (v := row[column.key]) is not None]
        if values or not answered:
            values += _wrong(column, failed)
        intervals[column.key] = (
            bootstrap_interval(values, config.bootstrap_samples, seed) if values else None
        )
    return Scores(by_question, intervals, {c.metric.name: c.metric.version for c in asked})


def means(records: Sequence[Record]) -> dict[str, float]:
    """Mean rounds and mean of every stat, over the answers that have it."""
    if not records:
        return {}
    found: dict[str, list[float]] = {"rounds": [float(r.answer.rounds) for r in records]}
    for record in records:
        for name, value in record.answer.stats.items():
            found.setdefault(name, []).append(float(value))
    return {name: sum(values) / len(values) for name, values in sorted(found.items())}


def _wrong(column: Column, failed: Sequence[Question]) -> list[float]:
    metric = column.metric
    if metric.wrong is None:
        return []
    return [metric.wrong for question in failed if metric.applies(question)]
