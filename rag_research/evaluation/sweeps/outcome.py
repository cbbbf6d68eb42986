"""What a sweep found: a table of its trials, the best configuration, and the files of both."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_research.evaluation.sweeps.sweep_file import Sweep
from rag_research.evaluation.sweeps.trials import State, Trial, best_trial
from rag_research.evaluation.table import aligned
from rag_research.runtime.text_files import write_text

FORMAT = 1
JSON, CSV = "trials.json", "trials.csv"
_STATES: Sequence[State] = ("finished", "stopped", "failed", "running")
_TOLD = {"stopped": "stopped early", "running": "interrupted"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """A sweep and its trials.

    Args:
        sweep: the file.
        folder: where everything is.
        trials: all of them, by number.
    """

    sweep: Sweep
    folder: Path
    trials: Sequence[Trial]

    @property
    def best(self) -> Trial | None:
        """The finished trial nearest to the goal."""
        metric = self.sweep.metric
        if metric is None:
            return None
        return best_trial(self.trials, metric.goal == "maximize")

    def count(self, state: State) -> int:
        """Trials in a state."""
        return sum(trial.state == state for trial in self.trials)


def trial_line(trial: Trial, sweep: Sweep) -> str:
    """One line about a trial that ended; a failed one shows its last lines."""
    value = "" if trial.value is None or sweep.metric is None else f", {sweep.metric.name} "
    line = (
        f"trial {trial.number}: {_TOLD.get(trial.state, trial.state)}{value}"
        f"{'' if not value else f'{trial.value:.4g}'} ({trial.seconds:.0f} s) "
        f"{' '.join(f'{k}={v}' for k, v in varied(sweep, trial).items())}"
    )
    return line + "".join(f"\n    {shown}" for shown in trial.error.splitlines())


def varied(sweep: Sweep, trial: Trial) -> dict[str, Any]:
    """The values of the parameters that differ between trials."""
    names = [p.name for p in sweep.parameters if p.distribution != "constant"]
    return {name: trial.parameters[name] for name in names}


def outcome_text(outcome: Outcome) -> str:
    """The table, best trial first, the best configuration, and how many ended how."""
    sweep, metric = outcome.sweep, outcome.sweep.metric
    label = metric.name if metric else "metric"
    names = [p.name for p in sweep.parameters if p.distribution != "constant"]
    rows = [["trial", "state", label, "epochs", "s", *names]]
    for trial in _ordered(outcome):
        rows.append(
            [
                str(trial.number),
                _TOLD.get(trial.state, trial.state),
                "-" if trial.value is None else f"{trial.value:.4g}",
                str(len(trial.history) or "-"),
                f"{trial.seconds:.0f}",
                *(_shown(trial.parameters[name]) for name in names),
            ]
        )
    lines = [*aligned(rows), ""] if outcome.trials else []
    ways = [f"{outcome.count(s)} {_TOLD.get(s, s)}" for s in _STATES if outcome.count(s)]
    lines.append(f"{len(outcome.trials)} trials: {', '.join(ways) or 'none begun'}.")
    if (best := outcome.best) and metric:
        words = " ".join(f"{k}={v}" for k, v in best.parameters.items())
        lines.append(f"Best, trial {best.number}, {metric.name} {best.value:.6g}: {words}")
    failed = [trial for trial in outcome.trials if trial.state == "failed"]
    for trial in failed:
        last = (trial.error.splitlines() or ["?"])[-1]
        lines.append(f"FAILED: trial {trial.number}: {last}")
    if failed and len(failed) == len(outcome.trials):
        lines.append("Every trial failed; their logs say why. retry=true begins them again.")
    return "\n".join([*lines, f"Files: {outcome.folder}"])


def write_outcome(outcome: Outcome) -> None:
    """Write ``trials.json`` and ``trials.csv`` into the folder of the sweep."""
    sweep, best = outcome.sweep, outcome.best
    value = {
        "format": FORMAT,
        "name": sweep.name,
        "file": dict(sweep.content),
        "best": None if best is None else best.number,
        "trials": [_row(trial) for trial in outcome.trials],
    }
    text = json.dumps(value, indent=2, ensure_ascii=False, default=str) + "\n"
    write_text(outcome.folder / JSON, text)
    names = [p.name for p in sweep.parameters]
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["trial", "state", "value", "epochs", "seconds", "attempt", *names])
    for trial in outcome.trials:
        facts = (trial.number, trial.state, trial.value, len(trial.history))
        rest = (round(trial.seconds, 3), trial.attempt)
        writer.writerow([*facts, *rest, *(trial.parameters[name] for name in names)])
    write_text(outcome.folder / CSV, table.getvalue())


def _ordered(outcome: Outcome) -> list[Trial]:
    """Finished trials from the best, then the others as they began."""
    metric = outcome.sweep.metric
    sign = -1 if metric and metric.goal == "maximize" else 1

    def place(trial: Trial) -> tuple[int, float, int]:
        finished = trial.state == "finished" and trial.value is not None
        value = sign * (trial.value or 0.0) if finished else 0.0
        return _STATES.index(trial.state), value, trial.number

    return sorted(outcome.trials, key=place)


def _row(trial: Trial) -> Mapping[str, Any]:
    return {
        "number": trial.number,
        "state": trial.state,
        "value": trial.value,
        "history": list(trial.history),
        "seconds": round(trial.seconds, 3),
        "attempt": trial.attempt,
        "error": trial.error,
        "parameters": dict(trial.parameters),
    }


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
