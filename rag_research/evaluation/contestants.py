"""Finished runs whose answers to the same questions can be set against each other."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_research.errors import ConfigError, DataError
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
    for other in runs[1:]:
        _check_same(runs[0], other)
    return [
        Contestant(name, run, {str(row["id"]): str(row["answer"]) for row in run.predictions()})
        for name, run in zip(_names(runs), runs, strict=True)
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
    shared = shared_questions(first, other)
    counts = [len(asked_questions(run)) for run in (first, other)]
    corpora = [_corpus(run) for run in (first, other)]
    if max(counts) > len(shared):
        about = f"{counts[0]} and {counts[1]} questions, {len(shared)} of them the same"
        advice = "with the same data set, limit, seed and shuffle, to their end"
    elif None not in corpora and corpora[0] != corpora[1]:
        about = f"corpora with the fingerprints {corpora[0]} and {corpora[1]}"
        advice = "over the same corpus"
    else:
        return
    raise DataError(
        f"{first.directory} and {other.directory} cannot be judged: they have {about}. "
        f"Run both {advice}."
    )


def _corpus(run: Results) -> Any:
    return run.provenance.get("dataset", {}).get("corpus_fingerprint")


def _names(runs: Sequence[Results]) -> list[str]:
    """Short names that tell the runs apart."""
    candidates = (
        [run.name for run in runs],
        [run.directory.resolve().name for run in runs],
        [str(run.directory) for run in runs],
    )
    return next(names for names in candidates if len(set(names)) == len(names))
