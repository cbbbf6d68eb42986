"""The outcome of one run: what ``results.json`` holds, as an object that can be loaded back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rag_research.errors import DataError
from rag_research.evaluation.rounds import RoundShare
from rag_research.evaluation.statistics import Interval
from rag_research.runtime.text_files import write_text
from rag_research.trace import plain
from rag_research.types import Usage

FILE = "results.json"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Results:
    """One system on one data set.

    Args:
        name: how tables call the run.
        system: registered name of the system.
        dataset: name of the data set.
        fingerprint: of the configuration; equal ones ask for equal results.
        questions: how many the configuration asks for.
        asked: how many were asked: answered plus failed.
        answered: how many got an answer.
        failed: how many ended in an error.
        partial: the budget ended the run before every question was asked.
        metrics: mean and 95 % interval by column; failed questions count as wrong in columns
            of correctness and are left out of ``answer_length``.
        means: mean over answered questions of ``rounds`` and of each of the answers' stats.
        index_usage: cost of the index by purpose, work found in the store included.
        query_usage: cost of the questions by purpose, failed ones included.
        seconds: ``a_question``, the time of asking divided by the questions answered, and
            ``latency_mean`` and ``latency_median``, how long one question took while others
            were under way; loading models is left out.
        by_rounds: histogram of rounds over answered questions, with the metrics of the
            questions that stopped there; empty in results of earlier versions.
        provenance: code, packages, machine, configuration, data, models, prompts.
        directory: where the files of the run are.
    """

    name: str
    system: str
    dataset: str
    fingerprint: str
    questions: int
    asked: int
    answered: int
    failed: int
    partial: bool
    metrics: Mapping[str, Interval | None]
    means: Mapping[str, float]
    index_usage: Mapping[str, Usage]
    query_usage: Mapping[str, Usage]
    seconds: Mapping[str, float]
    by_rounds: Sequence[RoundShare] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    directory: Path = field(default_factory=Path)

    @property
    def index_total(self) -> Usage:
        """Cost of the index, all purposes together."""
        return sum(self.index_usage.values(), Usage())

    @property
    def query_total(self) -> Usage:
        """Cost of all questions, all purposes together."""
        return sum(self.query_usage.values(), Usage())

    def save(self) -> Path:
        """Write ``results.json`` into the run's directory."""
        value = {"format": FORMAT, **plain(self)}
        del value["directory"]
        path = self.directory / FILE
        write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")
        return path

    @classmethod
    def load(cls, directory: Path | str) -> Results:
        """Read the results of a finished run.

        Args:
            directory: a run's directory.

        Raises:
            DataError: there are no readable results of this format.
        """
        path = Path(directory) / FILE
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
            found = value.pop("format")
            if found != FORMAT:
                raise DataError(f"{path}: format {found}, this version reads format {FORMAT}.")
            value["metrics"] = {
                k: None if v is None else Interval(**v) for k, v in value["metrics"].items()
            }
            for name in ("index_usage", "query_usage"):
                value[name] = {k: Usage(**v) for k, v in value[name].items()}
            value["by_rounds"] = tuple(RoundShare(**bar) for bar in value.get("by_rounds", ()))
            return cls(**value, directory=Path(directory))
        except FileNotFoundError:
            raise DataError(
                f"{path}: there are no results. Run the evaluation to its end first."
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{path}: not results of a run ({error!r}).") from error

    def predictions(self) -> Sequence[Mapping[str, Any]]:
        """The lines of ``predictions.jsonl``, in question order."""
        with (self.directory / "predictions.jsonl").open(encoding="utf-8") as file:
            return [json.loads(line) for line in file]
