"""How many rounds questions took, and how good the answers were that stopped there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag_research.evaluation.records import Record
from rag_research.evaluation.scoring import Values
from rag_research.types import Question


@dataclass(frozen=True, slots=True)
class RoundShare:
    """One bar of the histogram of rounds.

    Args:
        rounds: retrieval rounds after which these questions were answered.
        questions: how many.
        share: of all answered questions, 0 to 1.
        metrics: mean of each column over those questions that have a value in it; ``None``
            where none has.
    """

    rounds: int
    questions: int
    share: float
    metrics: Mapping[str, float | None]


def by_rounds(
    answered: Sequence[tuple[Question, Record]], values: Mapping[str, Values]
) -> tuple[RoundShare, ...]:
    """The histogram of rounds over answered questions, fewest rounds first.

    Failed questions stopped nowhere and are left out.

    Args:
        answered: questions with their records.
        values: question id -> column -> value.
    """
    groups: dict[int, list[Values]] = {}
    for question, record in answered:
        groups.setdefault(record.answer.rounds, []).append(values[question.id])
    return tuple(
        RoundShare(
            rounds=rounds,
            questions=len(rows),
            share=len(rows) / len(answered),
            metrics={column: _mean([row[column] for row in rows]) for column in rows[0]},
        )
        for rounds, rows in sorted(groups.items())
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
