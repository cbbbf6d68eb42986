"""What the words behind ``report`` name: runs, comparisons of retrievers, ablations, sweeps."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from rag_research.errors import DataError
from rag_research.evaluation.results import FILE, Results

CURVES = "comparison.json"
ABLATION = "ablation.json"
CHOSEN = "ablation-*.json"
SWEEP = "trials.json"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Sources:
    """Everything a report is made from.

    Args:
        runs: finished runs, in the order given.
        curves: what ``evaluate/retrieval.py`` wrote into ``comparison.json``, by folder; see
            :func:`by_short_name`.
        ablations: paired differences with intervals, by folder; those of chosen ablations, which
            have a file of their own, by the name of the file.
        sweeps: the trials of a sweep, by folder.
    """

    runs: Sequence[Results]
    curves: Mapping[str, Mapping[str, Any]]
    ablations: Mapping[str, Mapping[str, Any]]
    sweeps: Mapping[str, Mapping[str, Any]]


def read_sources(paths: Sequence[Path]) -> Sources:
    """Read what ``paths`` name.

    A folder of run folders stands for the runs in it, by name. A folder may be several things
    at once: an ablation's holds runs too.

    Args:
        paths: folders of runs, comparisons, ablations or sweeps.

    Raises:
        DataError: a path is none of these, or a file in it cannot be read.
    """
    runs: dict[Path, Results] = {}
    curves: dict[Path, Mapping[str, Any]] = {}
    ablations: dict[Path, Mapping[str, Any]] = {}
    sweeps: dict[Path, Mapping[str, Any]] = {}
    for path in paths:
        if not path.is_dir():
            raise DataError(f"{path}: there is no such folder. Give folders of finished runs.")
        own = path.resolve()
        studies = ablation_files(own)
        ablations.update((name, read_ablation(file)) for name, file in studies.items())
        if has_curves := (path / CURVES).is_file():
            curves[own] = read_json(path / CURVES)
        if has_trials := (path / SWEEP).is_file():
            sweeps[own] = read_trials(path / SWEEP)
        folders = [] if has_trials else run_folders(path)
        runs.update((f.resolve(), Results.load(f)) for f in folders if f.resolve() not in runs)
        if not (folders or studies or has_curves or has_trials):
            raise DataError(
                f"{path}: no {FILE} here or one folder below, and no {CURVES}, {ABLATION} or "
                f"{SWEEP} either. Give a folder that a finished command wrote."
            )
    named = (by_short_name(found) for found in (curves, ablations, sweeps))
    return Sources(list(runs.values()), *named)


def by_short_name(found: Mapping[Path, T]) -> dict[str, T]:
    """Values under the last parts of their paths: one, or as many as tell all of them apart.

    Args:
        found: values by resolved path.
    """
    size = next(n for n in itertools.count(1) if len({p.parts[-n:] for p in found}) == len(found))
    return {str(Path(*path.parts[-size:])): value for path, value in found.items()}


def ablation_files(folder: Path) -> dict[Path, Path]:
    """The studies in a folder: that of all ablations under the folder, others under their file."""
    chosen = {file.with_suffix(""): file for file in sorted(folder.glob(CHOSEN))}
    whole = folder / ABLATION
    return {**({folder: whole} if whole.is_file() else {}), **chosen}


def run_folders(path: Path) -> list[Path]:
    """``path`` itself if it is a finished run, else the finished runs directly below it."""
    if (path / FILE).is_file():
        return [path]
    return sorted(folder.parent for folder in path.glob(f"*/{FILE}"))


def read_trials(path: Path) -> dict[str, Any]:
    """A sweep's trials as ``{"metric", "goal", "trials": [{number, state, value, parameters}]}``.

    Args:
        path: ``trials.json`` of a sweep.

    Raises:
        DataError: it holds no trials.
    """
    told = read_json(path)
    if not isinstance(told, Mapping) or not isinstance(told.get("trials"), list):
        raise DataError(f"{path}: expected the trials of a sweep under 'trials'.")
    metric = told.get("file", {}).get("metric") or {}
    kept = ("number", "state", "value", "parameters")
    return {
        "metric": metric.get("name", "value"),
        "goal": metric.get("goal", "minimize"),
        "trials": [{key: trial.get(key) for key in kept} for trial in told["trials"]],
    }


def read_ablation(path: Path) -> dict[str, Any]:
    """An ablation's paired differences, and the question that each ablation answers.

    Args:
        path: ``ablation.json``, or the file of chosen ablations.

    Returns:
        ``rows`` with ``name``, ``metric``, ``difference``, ``low``, ``high`` and ``holm``;
        ``title``; ``reference``, the name of the full system; ``questions`` by name.

    Raises:
        DataError: it holds no differences.
    """
    told = read_json(path)
    rows = told.get("differences") if isinstance(told, Mapping) else told
    wanted = ("name", "metric", "difference", "low", "high")
    if not isinstance(rows, list) or any(key not in row for row in rows for key in wanted):
        raise DataError(f"{path}: expected differences with {', '.join(wanted)}.")
    more = told if isinstance(told, Mapping) else {}
    title = f"{more['system']} on {more['dataset']}" if "system" in more else path.parent.name
    chosen = f": {', '.join(more['chosen'])}" if more.get("chosen") else ""
    return {
        "rows": [{key: row[key] for key in (*wanted, "holm") if key in row} for row in rows],
        "title": title + chosen,
        "reference": more.get("reference", "full"),
        "questions": {run["name"]: run.get("question") for run in more.get("runs", ())},
    }


def read_json(path: Path) -> Any:
    """The value in a JSON file.

    Raises:
        DataError: it is not JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path}: not JSON ({error}).") from error
