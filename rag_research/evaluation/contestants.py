"""Finished runs whose answers to the same questions can be set against each other."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rag_research.errors import ConfigError, DataError
from rag_research.evaluation.comparable import distinct_names, require_comparable
from rag_research.evaluation.compare import asked_questions, shared_questions
from rag_research.evaluation.judge import Presentation
from rag_research.evaluation.results import Results


@dataclass(frozen=True, slots=True)
class Contestant:
    """One run.

    Args:
        name: the system's name, or the directory's where several runs are of one system.
        results: as loaded.
        answers: question id -> answer; failed questions have none.
    """

    name: str
    results: Results
    answers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Match:
    """Two answers to one question.

    Args:
        id: of the question.
        question: its text.
        a: number of a contestant.
        b: number of a later one.
        answers: of ``a`` and of ``b``; ``None`` where the question failed.
    """

    id: str
    question: str
    a: int
    b: int
    answers: tuple[str | None, str | None]

    @property
    def presentations(self) -> tuple[Presentation, Presentation] | None:
        """``a``'s answer first, then ``b``'s first; none when an answer is missing."""
        first, second = self.answers
        if first is None or second is None:
            return None
        return (
            Presentation(self.question, first, second),
            Presentation(self.question, second, first),
        )


def load_contestants(directories: Sequence[Path | str]) -> list[Contestant]:
    """Read runs and check that they can be compared.

    Args:
        directories: of finished runs, at least two.

    Raises:
        ConfigError: fewer than two runs, or one given twice.
        DataError: a run has no results, or was asked other questions or over another corpus
            than the first.
    """
    paths = [Path(directory) for directory in directories]
    if len(paths) < 2:
        raise ConfigError(f"A judge compares at least two runs, got {len(paths)}: name more.")
    places = [path.resolve() for path in paths]
    for number, place in enumerate(places):
        if place in places[:number]:
            raise ConfigError(f"{paths[number]} is given twice. Name each run once.")
    runs = [Results.load(path) for path in paths]
    require_comparable(runs)
    for other in runs[1:]:
        _check_same(runs[0], other)
    return [
        Contestant(name, run, {str(row["id"]): str(row["answer"]) for row in run.predictions()})
        for name, run in zip(distinct_names(runs), runs, strict=True)
    ]


def matches(contestants: Sequence[Contestant], limit: int | None = None) -> list[Match]:
    """Every pair of runs on every question, question by question.

    Args:
        contestants: checked runs.
        limit: only the first so many questions of the first run.
    """
    questions = list(asked_questions(contestants[0].results).items())[:limit]
    return [
        Match(
            id,
            text,
            a,
            b,
            (contestants[a].answers.get(id), contestants[b].answers.get(id)),
        )
        for id, text in questions
        for a, b in itertools.combinations(range(len(contestants)), 2)
    ]


def _check_same(first: Results, other: Results) -> None:
    """Look at the questions themselves, since results may not name their fingerprint."""
    shared = len(shared_questions(first, other))
    counts = [len(asked_questions(run)) for run in (first, other)]
    if max(counts) > shared:
        raise DataError(
            f"{first.directory} and {other.directory} cannot be judged: they hold {counts[0]} and "
            f"{counts[1]} questions, {shared} of them the same. Run both on the same data set, "
            "with the same limit, seed and shuffle, to their end."
        )
