"""What ``rag-research report`` does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rag_research.errors import DataError
from rag_research.evaluation.comparable import require_comparable, under_distinct_names
from rag_research.evaluation.compare import shared_questions
from rag_research.evaluation.report.overview import (
    columns,
    curve_facts,
    paired,
    published,
    run_facts,
)
from rag_research.evaluation.report.page import page
from rag_research.evaluation.report.passages import passages_of
from rag_research.evaluation.report.questions import question_rows
from rag_research.evaluation.report.sources import Sources, read_sources
from rag_research.evaluation.report.traces import QUESTIONS_A_BLOCK, blocks, read_traces
from rag_research.evaluation.results import Results
from rag_research.runtime.text_files import write_text


def write_report(paths: Sequence[Path], out: Path, title: str | None = None) -> Path:
    """Write one HTML file about finished runs.

    Args:
        paths: folders of runs, or of comparisons, ablations and sweeps to be shown with them.
        out: the file to write.
        title: above the page; by default the systems and the data set.

    Returns:
        ``out``.

    Raises:
        DataError: a path names nothing that can be shown, runs cannot be compared, or ``out`` is
            a folder.
    """
    if out.is_dir():
        raise DataError(f"--out: {out} is a folder. Name a file in it, such as report.html.")
    sources = read_sources(paths)
    runs = named(sources.runs)
    require_comparable(runs)
    for other in runs[1:]:
        shared_questions(runs[0], other)
    rows = question_rows(runs)
    traces = [read_traces(run.directory) for run in runs]
    ids = [row["id"] for row in rows]
    evidence = {row["id"]: _evidence(row) for row in rows}
    texts, packed = blocks(ids, traces, passages_of(runs), evidence) if runs else ([], [])
    data = {**summary(sources, runs, title), "questions": rows, "block": QUESTIONS_A_BLOCK}
    out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, page(data, texts, packed))
    return out


def summary(sources: Sources, runs: Sequence[Results], title: str | None) -> dict[str, Any]:
    """Everything of the page but the questions."""
    dataset = runs[0].dataset if runs else ""
    systems = ", ".join(run.name for run in runs)
    shown = title or (f"{systems} on {dataset}" if runs else "Report")
    return {
        "title": shown,
        "dataset": dataset,
        "columns": columns(runs),
        "runs": [run_facts(run) for run in runs],
        "gaps": paired(runs),
        "published": published(runs),
        "curves": [curve_facts(name, told) for name, told in sources.curves.items()],
        "ablations": [{"name": n, **told} for n, told in sources.ablations.items()],
        "sweeps": [{"name": n, **told} for n, told in sources.sweeps.items()],
    }


def named(runs: Sequence[Results]) -> list[Results]:
    """Runs under names that tell them apart.

    Raises:
        DataError: two of them are the same folder under one name.
    """
    found = under_distinct_names(runs)
    names = [run.name for run in found]
    if len(set(names)) < len(names):
        raise DataError(f"The runs cannot be told apart by name: {', '.join(names)}.")
    return found


def _evidence(row: dict[str, Any]) -> list[str]:
    found = list(row["gold_passages"])
    for outcome in row["runs"]:
        found += [hit[0] for hit in outcome["evidence"]] if outcome else []
    return found
