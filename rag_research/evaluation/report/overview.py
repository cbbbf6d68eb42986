"""Figures and facts of runs as plain values, as the page reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rag_research.evaluation.compare import bootstrap_samples, metric_of
from rag_research.evaluation.paired import correctness_columns, gaps_to
from rag_research.evaluation.path_tokens import BUDGETS
from rag_research.evaluation.published import published_figures
from rag_research.evaluation.results import Results
from rag_research.evaluation.table import is_percent, label
from rag_research.trace import plain
from rag_research.types import Usage

_FACTS = ("date", "command", "code", "packages", "machine", "models", "prompts", "metric_versions")


def columns(runs: Sequence[Results]) -> list[dict[str, Any]]:
    """Every metric that has a value in some run, in order.

    Returns:
        ``key``; ``label``; ``percent``, shown times 100; ``right``, says how right answers are.
    """
    keys = dict.fromkeys(k for run in runs for k, v in run.metrics.items() if v is not None)
    return [
        {
            "key": key,
            "label": label(key).replace("_", " "),
            "percent": is_percent(key),
            "right": metric_of(key).wrong is not None,
        }
        for key in keys
    ]


def run_facts(run: Results) -> dict[str, Any]:
    """Figures, costs and origin of one run. The folder is its name alone."""
    told = run.provenance
    config = told.get("config", {})
    return {
        "name": run.name,
        "system": run.system,
        "folder": run.directory.resolve().name,
        "fingerprint": run.fingerprint,
        "questions": run.questions,
        "asked": run.asked,
        "answered": run.answered,
        "failed": run.failed,
        "partial": run.partial,
        "metrics": {k: plain(v) for k, v in run.metrics.items()},
        "means": dict(run.means),
        "index": usage_rows(run.index_usage),
        "query": usage_rows(run.query_usage),
        "seconds": dict(run.seconds),
        "stages": {
            stage: seconds
            for stage, seconds in _stage_seconds(told.get("resources", {})).items()
            if seconds is not None
        },
        "rounds": [plain(bar) for bar in run.by_rounds],
        "facts": {key: told[key] for key in _FACTS if key in told},
        "data": {k: v for k, v in told.get("dataset", {}).items() if k != "config"},
        "config": {k: v for k, v in config.items() if k not in ("run", "logger")},
    }


def usage_rows(usage: Mapping[str, Usage]) -> list[dict[str, Any]]:
    """Costs by purpose; ``weighted`` is input + 4 x output tokens."""
    return [
        {
            "purpose": purpose or "(none)",
            "calls": u.calls,
            "cached": u.cached_calls,
            "in": u.input_tokens,
            "out": u.output_tokens,
            "weighted": u.weighted_tokens,
            "seconds": round(u.seconds, 3),
        }
        for purpose, u in usage.items()
    ]


def paired(runs: Sequence[Results]) -> list[dict[str, Any]]:
    """Each later run minus the first one, column by column, with p-values after Holm.

    As ``rag-research compare`` has them: with the resamples of the first run's configuration.

    Raises:
        DataError: the runs cannot be compared.
    """
    if len(runs) < 2 or not correctness_columns(runs[0]):
        return []
    return [plain(gap) for gap in gaps_to(runs[0], runs[1:], bootstrap_samples(runs[0]))]


def curve_facts(name: str, told: Mapping[str, Any]) -> dict[str, Any]:
    """Recall against the token budget, one line a retriever."""
    return {
        "name": name,
        "dataset": told.get("dataset", ""),
        "questions": told.get("questions"),
        "budgets": BUDGETS.tolist(),
        "measures": {
            measure: {row: values["curve"] for row, values in rows.items() if "curve" in values}
            for measure, rows in told.get("evidence", {}).items()
        },
    }


def published(runs: Sequence[Results]) -> list[dict[str, Any]]:
    """Published figures on the data set of the runs, one row a reader and method.

    Returns:
        ``name``, ``reader``, ``encoder``, ``source``, ``metrics``, and ``same``: a run's system
        is the method.
    """
    rows: dict[tuple[str, str, str], dict[str, Any]] = {}
    for figure in published_figures(dataset=runs[0].dataset) if runs else ():
        row = rows.setdefault(
            (figure.paper, figure.reader, figure.method),
            {
                "name": figure.method,
                "reader": figure.reader,
                "encoder": figure.encoder,
                "source": figure.paper,
                "same": figure.system in {run.system for run in runs},
                "metrics": {},
            },
        )
        row["metrics"][figure.metric] = figure.value
    return list(rows.values())


def _stage_seconds(resources: Mapping[str, Any]) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for stage, used in resources.items():
        if isinstance(used, Mapping):
            found[stage] = used.get("wall_seconds", used.get("seconds"))
    return found
