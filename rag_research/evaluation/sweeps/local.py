"""A sweep on this machine: propose, run, watch, stop early, keep; until nothing is left to run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from filelock import FileLock, Timeout

from rag_research.config.build import inert
from rag_research.config.fingerprint import fingerprint
from rag_research.errors import ConfigError, did_you_mean
from rag_research.evaluation.sweeps.outcome import Outcome, trial_line, write_outcome
from rag_research.evaluation.sweeps.process import TrialProcess
from rag_research.evaluation.sweeps.search import grid_size, make_search
from rag_research.evaluation.sweeps.sweep_file import Sweep
from rag_research.evaluation.sweeps.trials import Trial, Trials
from rag_research.runtime.figures import OUT, SUMMARY, read_history, read_summary

_PAUSE = 0.2  # seconds between looks at the trials


@dataclass(frozen=True, slots=True)
class LocalConfig:
    """How a sweep is run here.

    Args:
        out: folder of the sweep; ``None`` names one after the file and what it asks for.
        workers: trials at the same time.
        trials: most trials, in place of the file's ``run_cap``; it may grow later.
        search_seed: of random and bayes.
        failures: a sweep whose first trials all fail ends after so many.
        retry: begin failed trials again.
    """

    out: str | None = inert(None)
    workers: int = inert(1)
    trials: int | None = inert(None)
    search_seed: int = 0
    failures: int = inert(3)
    retry: bool = inert(False)

    def __post_init__(self) -> None:
        for name in ("workers", "trials", "failures"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise ValueError(f"{name}: got {value}, expected 1 or more.")


def run_sweep(sweep: Sweep, config: LocalConfig, tell: Callable[[str], None]) -> Outcome:
    """Run a sweep, or what is left of it.

    Args:
        sweep: a sweep file.
        config: see :class:`LocalConfig`.
        tell: takes a line for each trial that ends.

    Returns:
        All trials. They are also in ``trials.json`` and ``trials.csv`` of the sweep's folder.

    Raises:
        ConfigError: nothing says how many trials there are, or the folder belongs to another
            sweep or to another process.
        MissingExtraError: ``bayes`` without optuna.
        KeyboardInterrupt: after ending the trials under way; they are begun again next time.
    """
    asked = fingerprint({k: v for k, v in sweep.content.items() if k != "run_cap"}, config)
    folder = Path(config.out or Path("runs") / f"sweep-{sweep.name}-{asked}")
    most = _most_trials(sweep, config)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / "lock", timeout=0):
            run = _Run(sweep, config, folder, Trials(folder, asked), most, tell)
            run.to_the_end()
            return run.outcome()
    except Timeout as error:
        raise ConfigError(
            f"{folder}: another process is running this sweep. Use workers=N for more trials at "
            "the same time."
        ) from error


def _most_trials(sweep: Sweep, config: LocalConfig) -> int:
    caps = [cap for cap in (config.trials or sweep.run_cap,) if cap is not None]
    if sweep.method == "grid":
        caps.append(grid_size(sweep.parameters))
    if not caps:
        raise ConfigError(
            f"{sweep.name}: method {sweep.method} has no end by itself. Give trials=N, or run_cap "
            "in the file."
        )
    return min(caps)


class _Run:
    """One call of :func:`run_sweep`."""

    def __init__(
        self,
        sweep: Sweep,
        config: LocalConfig,
        folder: Path,
        trials: Trials,
        most: int,
        tell: Callable[[str], None],
    ) -> None:
        self.sweep, self.config, self.folder, self.trials = sweep, config, folder, trials
        self.most, self.tell = most, tell
        self.search = make_search(sweep, config.search_seed)
        self.again = trials.unfinished(config.retry)
        self.running: dict[int, tuple[Trial, TrialProcess]] = {}

    def outcome(self) -> Outcome:
        return Outcome(self.sweep, self.folder, self.trials.all())

    def to_the_end(self) -> None:
        try:
            while True:
                while len(self.running) < self.config.workers and (trial := self.next()):
                    self.begin(trial)
                if not self.running:
                    break
                time.sleep(_PAUSE)
                for number in list(self.running):
                    self.look(number)
        finally:
            for _, process in self.running.values():
                process.ask_to_end()
            for _, process in self.running.values():
                process.end()
            write_outcome(self.outcome())

    def next(self) -> Trial | None:
        """The next trial to begin; interrupted ones come first."""
        if self.enough():
            return None
        if self.again:
            return self.again.pop(0)
        done = self.trials.all()
        return self.search(len(done), done) if len(done) < self.most else None

    def enough(self) -> bool:
        """Whether the target is reached, or nothing works."""
        waiting = {trial.number for trial in self.again}
        ended = [
            trial
            for trial in self.trials.all()
            if trial.state != "running" and trial.number not in waiting
        ]
        if ended and all(trial.state == "failed" for trial in ended):
            return len(ended) >= self.config.failures
        metric = self.sweep.metric
        if metric is None or metric.target is None:
            return False
        return any(t.value is not None and not metric.better(metric.target, t.value) for t in ended)

    def begin(self, trial: Trial) -> None:
        self.trials.save(trial)
        again = f"-{trial.attempt}" if trial.attempt > 1 else ""
        folder = self.folder / "trials" / f"{trial.number:04d}{again}"
        process = TrialProcess(self.sweep, trial.parameters, folder)
        self.running[trial.number] = (trial, process)

    def look(self, number: int) -> None:
        """See what a trial has reported, whether it ended, or whether it should."""
        trial, process = self.running[number]
        code = process.exit_code()  # before the files are read: they are whole if it has ended
        metric = self.sweep.metric
        rows = read_history(process.folder) if metric else []
        history = [row[metric.name] for row in rows if metric and metric.name in row]
        if len(history) > len(trial.history):
            trial = replace(trial, history=history)
            self.trials.save(trial)
            self.running[number] = (trial, process)
        if code is not None:
            self.close(_ended(trial, process, code, self.sweep))
        elif self.should_stop(trial):
            process.end()
            self.close(replace(trial, state="stopped", value=history[-1], seconds=process.seconds))

    def should_stop(self, trial: Trial) -> bool:
        metric, rule = self.sweep.metric, self.sweep.early_stop
        if rule is None or metric is None:
            return False
        sign = -1 if metric.goal == "maximize" else 1
        others = [t.history for t in self.trials.all() if t.number != trial.number]
        return rule.stops(
            [sign * value for value in trial.history],
            [[sign * value for value in history] for history in others],
        )

    def close(self, trial: Trial) -> None:
        del self.running[trial.number]
        self.trials.save(trial)
        write_outcome(self.outcome())
        self.tell(trial_line(trial, self.sweep))


def _ended(trial: Trial, process: TrialProcess, code: int, sweep: Sweep) -> Trial:
    """What became of a trial whose process ended by itself."""
    trial = replace(trial, seconds=process.seconds)
    if code:
        reason = process.last_lines() or "it wrote nothing"
        return replace(trial, state="failed", error=f"exit code {code}\n{reason}")
    if sweep.metric is None:
        return replace(trial, state="finished")
    figures = read_summary(process.folder)
    if figures is None or sweep.metric.name not in figures:
        return replace(trial, state="failed", error=_no_figure(figures, process, sweep.metric.name))
    return replace(trial, state="finished", value=figures[sweep.metric.name])


def _no_figure(figures: Mapping[str, float] | None, process: TrialProcess, name: str) -> str:
    if figures is None:
        return (
            f"it left no {SUMMARY} in {process.folder}; a program writes it into the folder that "
            f"the environment variable {OUT} names"
        )
    names: Sequence[str] = list(figures)
    return (
        f"its {SUMMARY} has no figure {name!r}.{did_you_mean(name, names)} "
        f"Known: {', '.join(names)}"
    )
