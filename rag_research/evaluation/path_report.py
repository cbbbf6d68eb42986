"""The comparison of path selectors in figures and as markdown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from rag_research.config.build import to_dict
from rag_research.evaluation.path_comparison import PathComparison
from rag_research.evaluation.path_plot import line_plot
from rag_research.evaluation.path_tokens import BUDGETS, MEASURES, area, tokens_at
from rag_research.evaluation.stages import score_stages, stages_table
from rag_research.evaluation.statistics import (
    Interval,
    bootstrap_interval,
    holm,
    paired_bootstrap,
    two_sided,
)
from rag_research.runtime.provenance import peak_memory_mib

SHOWN_BUDGETS = (256, 512, 1024)
_MEANING = {
    "whole": "gold passages of which every sentence is read",
    "touched": "gold passages of which at least one sentence is read",
    "sentences": "supporting sentences read",
}
Row = Mapping[str, Any]


def summary(
    outcome: PathComparison, first: str, dataset: str, samples: int = 1000, seed: int = 0
) -> dict[str, Any]:
    """Everything as plain values, shares from 0 to 1.

    Args:
        outcome: of one data set.
        first: the row all others are compared with.
        dataset: its name.
        samples: bootstrap resamples.
        seed: of the bootstrap.

    Returns:
        ``rows``: row -> metric -> 95 % interval; ``evidence``: measure -> row -> interval at each
        of 256, 512 and 1,024 tokens, ``area``, ``tokens_at_90`` and ``curve``; ``differences``:
        metric -> row -> paired difference from ``first`` with ``p`` and, corrected over the rows
        of a metric, ``holm``; ``milliseconds`` (medians), ``peak_mib`` and ``stages``.
    """
    evidence = _evidence(outcome, samples, seed)
    return {
        "dataset": dataset,
        "passages": outcome.passages,
        "questions": len(outcome.questions),
        "first": first,
        "rows": {
            row: {name: _interval(own, samples, seed) for name, own in values.items()}
            for row, values in outcome.values.items()
        },
        "evidence": evidence,
        "differences": _differences(outcome, first, samples, seed),
        "milliseconds": {stage: median(own) for stage, own in outcome.milliseconds.items()},
        "peak_mib": peak_memory_mib()["process"],
    }


def markdown(told: Row, outcome: PathComparison) -> str:
    """The tables of :func:`summary`, in percent; ± is half the 95 % interval."""
    metrics = _shown(next(iter(told["rows"].values())))
    head = [*metrics, "found", "returned", "hub mass"]
    lines = [
        f"{told['dataset']}: {told['passages']} passages, {told['questions']} questions with "
        "gold passages. In percent, ± half the 95 % bootstrap interval. found: share of gold "
        "passages among all returned; hub mass: share of the score on the 1 % of passages whose "
        "titles are named most.",
        "",
        *_header("retriever", head),
    ]
    for row, values in told["rows"].items():
        cells = [_cell(values[name]) for name in (*metrics, "found")]
        cells += [f"{values['returned']['mean']:.1f}", f"{100 * values['hub_mass']['mean']:.1f}"]
        lines.append(_line(row, cells))
    lines += ["", f"Differences from {told['first']} with their intervals; p after Holm."]
    lines += ["", *_header("retriever", list(told["differences"]))]
    for row in next(iter(told["differences"].values())):
        lines.append(_line(row, [_gap(own[row]) for own in told["differences"].values()]))
    for measure, rows in told["evidence"].items():
        head = [*(f"{budget} tokens" for budget in SHOWN_BUDGETS), "area", "tokens at 90 %"]
        lines += ["", f"Share of {_MEANING[measure]}, by tokens.", "", *_header("order", head)]
        for row, own in rows.items():
            cells = [_cell(own[str(budget)]) for budget in SHOWN_BUDGETS]
            cells += [f"{100 * own['area']:.1f}", str(own["tokens_at_90"] or "-")]
            lines.append(_line(row, cells))
    lines += ["", f"After each stage of {told['first']}:", ""]
    lines.append(stages_table(score_stages(outcome.stages, _cut_offs(metrics), 1000)))
    spent = ", ".join(f"{stage} {value:.1f}" for stage, value in told["milliseconds"].items())
    lines += [
        "",
        f"CPU milliseconds a question (medians): {spent}. Peak {told['peak_mib']:.0f} MiB.",
    ]
    return "\n".join(lines)


def write_report(told: Row, text: str, outcome: PathComparison, folder: Path) -> None:
    """``comparison.md``, ``comparison.json``, ``recall_tokens_MEASURE.svg``, ``stages.jsonl``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "comparison.md").write_text(text + "\n", encoding="utf-8")
    plain = json.dumps(told, indent=1, ensure_ascii=False)
    (folder / "comparison.json").write_text(plain + "\n", encoding="utf-8")
    rows = [{"id": r.question, "rankings": r.rankings, "gold": r.gold} for r in outcome.stages]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / "stages.jsonl").write_text(lines, encoding="utf-8")
    for measure, own in told["evidence"].items():
        curves = {row: [100 * value for value in values["curve"]] for row, values in own.items()}
        drawing = line_plot(
            f"{told['dataset']}: {_MEANING[measure]}", "tokens", "%", BUDGETS.tolist(), curves
        )
        (folder / f"recall_tokens_{measure}.svg").write_text(drawing, encoding="utf-8")


def _evidence(outcome: PathComparison, samples: int, seed: int) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for measure in MEASURES:
        for row, curves in outcome.curves.items():
            if measure not in curves:
                continue
            each = np.stack(curves[measure])
            curve = each.mean(axis=0)
            own: dict[str, Any] = {
                str(budget): _interval(each[:, _place(budget)].tolist(), samples, seed)
                for budget in SHOWN_BUDGETS
            }
            own |= {"area": area(curve), "tokens_at_90": tokens_at(curve)}
            told.setdefault(measure, {})[row] = own | {"curve": curve.tolist()}
    return told


def _differences(
    outcome: PathComparison, first: str, samples: int, seed: int
) -> dict[str, dict[str, Any]]:
    columns: dict[str, dict[str, Sequence[float]]] = {
        name: {row: values[name] for row, values in outcome.values.items()}
        for name in _shown(outcome.values[first])
    }
    measure = "sentences" if "sentences" in outcome.curves[first] else "whole"
    for budget in SHOWN_BUDGETS:
        columns[f"{measure}@{budget}"] = {
            row: [float(curve[_place(budget)]) for curve in curves[measure]]
            for row, curves in outcome.curves.items()
        }
    told: dict[str, dict[str, Any]] = {}
    names = [row for row in outcome.curves if row != first]
    for name, rows in columns.items():
        found = {
            row: paired_bootstrap(rows[row], rows[first], samples, seed)
            for row in names
            if row in rows
        }
        plain = [two_sided(difference, samples) for difference in found.values()]
        corrected = holm(plain)
        told[name] = dict.fromkeys(names) | {
            row: {**to_dict(difference.interval), "p": p, "holm": q}
            for (row, difference), p, q in zip(found.items(), plain, corrected, strict=True)
        }
    return told


def _interval(values: Sequence[float], samples: int, seed: int) -> dict[str, Any]:
    interval: Interval = bootstrap_interval(values, samples, seed)
    return dict(to_dict(interval))


def _shown(names: Mapping[str, Any]) -> list[str]:
    """Recall at every cut-off, and the full chain at 5, or else at the last cut-off."""
    recall = [name for name in names if name.startswith("recall@")]
    chains = [name for name in names if name.startswith("full_chain@")]
    return [*recall, "full_chain@5" if "full_chain@5" in chains else chains[-1]]


def _cut_offs(metrics: Sequence[str]) -> list[int]:
    return [int(name.partition("@")[2]) for name in metrics if name.startswith("recall@")]


def _place(budget: int) -> int:
    return int(np.flatnonzero(budget == BUDGETS)[0])


def _header(first: str, names: Sequence[str]) -> list[str]:
    return [_line(first, names), f"|---|{'---:|' * len(names)}"]


def _line(name: str, cells: Sequence[str]) -> str:
    return f"| {name} | {' | '.join(cells)} |"


def _cell(value: Row) -> str:
    return f"{100 * value['mean']:.1f} ±{50 * (value['high'] - value['low']):.1f}"


def _gap(value: Row | None) -> str:
    if value is None:
        return "-"
    low, high = 100 * value["low"], 100 * value["high"]
    return f"{100 * value['mean']:+.1f} [{low:+.1f}, {high:+.1f}] p={value['holm']:.3f}"
