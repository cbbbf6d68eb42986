"""``rag-research compare``: finished runs in one table, each against the first."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rag_research.errors import ConfigError
from rag_research.evaluation.comparable import require_comparable, under_distinct_names
from rag_research.evaluation.compare import bootstrap_samples
from rag_research.evaluation.costs import cost_sheet
from rag_research.evaluation.paired import gaps_to, pooled_gaps
from rag_research.evaluation.results import Results
from rag_research.evaluation.series import code_note
from rag_research.evaluation.sheets import gaps_sheet, pooled_sheet, render, results_sheet
from rag_research.trace import plain


def run_command(directories: Sequence[Path | str], form: str = "text") -> int:
    """Print the comparison of finished runs.

    Args:
        directories: of runs; the first one is what the others are compared with.
        form: ``text``, ``markdown``, ``latex`` or ``json``.

    Returns:
        0, or 1 if a question of a run had failed.

    Raises:
        ConfigError: fewer than two runs, or one given twice.
        DataError: a run has no results, or runs cannot be compared.
    """
    runs = load_runs(directories)
    samples = bootstrap_samples(runs[0])
    gaps = gaps_to(runs[0], runs[1:], samples)
    if form == "json":
        value = {
            "reference": runs[0].name,
            "samples": samples,
            "runs": [
                {"name": run.name, "directory": str(run.directory), "metrics": plain(run.metrics)}
                for run in runs
            ],
            "differences": [plain(gap) for gap in gaps],
        }
        print(json.dumps(value, indent=2, ensure_ascii=False))
    else:
        sheets = [
            results_sheet(runs, f"Runs on {runs[0].dataset}"),
            gaps_sheet(gaps, runs[0].name),
            cost_sheet(runs, code_note(runs)),
        ]
        print(render(sheets, form))
    return int(any(run.failed for run in runs))


def pooled_command(
    directories: Sequence[Path | str], minus: Sequence[Path | str], form: str = "text"
) -> int:
    """Print how one system differs from another on several data sets, and over all of them.

    Args:
        directories: of runs of one system, one a data set.
        minus: of the other system's, in the same order.
        form: ``text``, ``markdown``, ``latex`` or ``json``.

    Returns:
        0, or 1 if a question of a run had failed.

    Raises:
        ConfigError: not as many runs of the one as of the other.
        DataError: a run has no results, or a pair cannot be compared.
    """
    if len(directories) != len(minus):
        raise ConfigError(
            f"compare: {len(directories)} runs and {len(minus)} after --minus. Give one of each "
            "system for every data set, in the same order."
        )
    pairs = [
        (Results.load(Path(run)), Results.load(Path(other)))
        for run, other in zip(directories, minus, strict=True)
    ]
    samples = bootstrap_samples(pairs[0][0])
    gaps = pooled_gaps(pairs, samples)
    run, other = under_distinct_names(pairs[0])
    if form == "json":
        value = {
            "run": run.name,
            "reference": other.name,
            "samples": samples,
            "differences": [plain(gap) for gap in gaps],
        }
        print(json.dumps(value, indent=2, ensure_ascii=False))
    else:
        print(render([pooled_sheet(gaps, run.name, other.name)], form))
    return int(any(result.failed for pair in pairs for result in pair))


def load_runs(directories: Sequence[Path | str]) -> list[Results]:
    """Finished runs that can be compared, under names that tell them apart.

    Raises:
        ConfigError: fewer than two runs, or one given twice.
        DataError: a run has no results, or runs cannot be compared.
    """
    paths = [Path(directory) for directory in directories]
    if len({path.resolve() for path in paths}) < max(2, len(paths)):
        raise ConfigError(
            f"A comparison needs at least two different runs, got: {', '.join(map(str, paths))}."
        )
    runs = [Results.load(path) for path in paths]
    require_comparable(runs)
    return under_distinct_names(runs)
