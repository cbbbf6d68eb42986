"""``evaluate/experiment.py``: the rows of a paper's table, run here, with its figures beside."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rag_research.config.fingerprint import fingerprint
from rag_research.config.schema import ExperimentConfig
from rag_research.evaluation.ablate import placed
from rag_research.evaluation.choices import split_choices
from rag_research.evaluation.costs import cost_sheet
from rag_research.evaluation.dry_run import estimate
from rag_research.evaluation.paired import Gap, gaps_to
from rag_research.evaluation.paper_table import PaperTable, load_table, table_configs
from rag_research.evaluation.published import Figure, PublishedTable, published_table
from rag_research.evaluation.results import Results
from rag_research.evaluation.series import code_note, load_dataset, not_run_note, run_series
from rag_research.evaluation.sheets import Sheet, gaps_sheet, render
from rag_research.evaluation.table import label, notes, shown
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.runtime.text_files import write_text
from rag_research.systems.assemble import load_models
from rag_research.trace import plain

_CHOICES = ("size", "datasets", "rows")


@dataclass(frozen=True)
class Outcome:
    """A table on one data set.

    Args:
        table: what was asked for.
        dataset: as the paper's table names it.
        results: finished runs, under the names of their rows.
        samples: bootstrap resamples.
    """

    table: PaperTable
    dataset: str
    results: Sequence[Results]
    samples: int

    @property
    def published(self) -> PublishedTable:
        """The paper's table."""
        return published_table(self.table.published)

    @property
    def figures(self) -> list[Figure]:
        """Published figures on this data set."""
        found = self.published.figures(self.table.published)
        return [figure for figure in found if figure.dataset == self.dataset]

    @cached_property
    def gaps(self) -> list[Gap]:
        """Differences to the reference row; a run that the budget cut short has none."""
        runs = {run.name: run for run in self.results if not run.partial}
        reference = runs.pop(self.table.reference, None)
        return gaps_to(reference, list(runs.values()), self.samples) if reference else []

    def sheets(self) -> list[Sheet]:
        """Figures beside the published ones, paired differences, costs."""
        sheets = [self._beside()]
        if self.gaps:
            sheets.append(gaps_sheet(self.gaps, self.table.reference))
        return [*sheets, cost_sheet(self.results, code_note(self.results))]

    def _beside(self) -> Sheet:
        runs = {run.name: run for run in self.results}
        values = {(f.method, f.metric, f.reader): f.value for f in self.figures}
        methods = dict.fromkeys([*self.table.rows, *runs])
        rows = {m: [m] for m in methods if m in runs or any(m == key[0] for key in values)}
        head = ["row"]
        for metric in self.table.metrics:
            readers = list(dict.fromkeys(f.reader for f in self.figures if f.metric == metric))
            head += [label(metric), *(f"{label(metric)}, paper: {reader}" for reader in readers)]
            for name, row in rows.items():
                row.append(shown(metric, runs[name].metrics.get(metric)) if name in runs else "-")
                given = (values.get((name, metric, reader)) for reader in readers)
                row += ["-" if value is None else f"{100 * value:.1f}" for value in given]
        about = (
            f"Here: {_models(self.results)}. In the paper: the reader in the column's head "
            f"(where the paper names it), encoder {self.published.encoder}, all of its questions. "
            "Published figures show the paper's order; no difference to them is computed."
        )
        more = [self.published.note] if self.published.note else []
        title = f"{self.published.paper}: {self.dataset}, {self.results[0].questions} questions"
        return Sheet(title, [head, *rows.values()], [about, *more, *notes(self.results)])

    def to_plain(self) -> dict[str, Any]:
        """JSON types; shares from 0 to 1."""
        return {
            "dataset": self.dataset,
            "reference": self.table.reference,
            "runs": [
                {
                    "name": run.name,
                    "directory": str(run.directory),
                    "questions": run.questions,
                    "failed": run.failed,
                    "partial": run.partial,
                    "metrics": plain(run.metrics),
                    "models": plain(run.provenance.get("models")),
                }
                for run in self.results
            ],
            "published": [plain(figure) for figure in self.figures],
            "differences": [plain(gap) for gap in self.gaps],
        }


def run_command(name: str, words: Sequence[str], form: str = "text") -> int:
    """Run a table and print it, data set by data set, or for a dry run the estimates.

    Args:
        name: a file of ``configs/paper``.
        words: ``size=small`` or ``size=published``, ``datasets=[a,b]``, ``rows=[a,b]``, and
            ``key=value`` settings for every run.
        form: ``text``, ``markdown``, ``latex`` or ``json``.

    Returns:
        0, or 1 if a question failed or the budget ran out.

    Raises:
        RagResearchError: the table, a setting, data or a run cannot be used.
    """
    table = load_table(name)
    choices, settings = split_choices(words, _CHOICES)
    size = ",".join(choices["size"]) or "published"
    configs = table_configs(table, size, settings, choices["datasets"], choices["rows"])
    first = next(iter(next(iter(configs.values())).values()))
    if first.run.dry_run:
        for dataset, rows in configs.items():
            for row, config in rows.items():
                print(f"{dataset}, {row}\n{estimate(config)}\n")
        return 0
    directory = Path(first.run.out or Path("runs") / f"{name}-{size}-{fingerprint(configs)}")
    outcomes: list[Outcome] = []

    def tell(outcome: Outcome) -> None:
        outcomes.append(outcome)
        if form != "json":
            print(render(outcome.sheets(), form), end="\n\n", flush=True)

    try:
        run_table(table, configs, directory, tell)
    finally:
        waiting = not_run(configs, outcomes)
        if outcomes:
            text = _saved(directory, outcomes, waiting)
            if form == "json":
                print(text)
            elif waiting:
                print(_waiting_note(waiting))
    return int(any(run.failed or run.partial for outcome in outcomes for run in outcome.results))


def not_run(
    configs: Mapping[str, Mapping[str, ExperimentConfig]], outcomes: Sequence[Outcome]
) -> dict[str, list[str]]:
    """Rows without a result, by data set.

    Args:
        configs: data set -> row -> configuration.
        outcomes: what came out.
    """
    ran = {(outcome.dataset, run.name) for outcome in outcomes for run in outcome.results}
    left = {name: [row for row in rows if (name, row) not in ran] for name, rows in configs.items()}
    return {name: rows for name, rows in left.items() if rows}


def _saved(
    directory: Path, outcomes: Sequence[Outcome], waiting: Mapping[str, Sequence[str]]
) -> str:
    told = {"datasets": [outcome.to_plain() for outcome in outcomes], "not_run": waiting}
    text = json.dumps(told, indent=2, ensure_ascii=False)
    sheets = [sheet for outcome in outcomes for sheet in outcome.sheets()]
    tables = [render(sheets, "markdown"), *([_waiting_note(waiting)] if waiting else [])]
    write_text(directory / "experiment.json", text + "\n")
    write_text(directory / "experiment.md", "\n\n".join(tables) + "\n")
    return text


def _waiting_note(waiting: Mapping[str, Sequence[str]]) -> str:
    return not_run_note("; ".join(f"{name}: {', '.join(rows)}" for name, rows in waiting.items()))


def run_table(
    table: PaperTable,
    configs: Mapping[str, Mapping[str, ExperimentConfig]],
    directory: Path,
    tell: Callable[[Outcome], None],
) -> None:
    """All runs of a table; the budget is one, and the first run it cuts short is the last.

    Args:
        table: from :func:`~rag_research.evaluation.paper_table.load_table`.
        configs: data set -> row -> configuration, all with the same models.
        directory: gets a folder for each data set and row.
        tell: is given what came out, data set by data set, and before an error the rows that
            were finished.

    Raises:
        RagResearchError: data cannot be read (all of it is read before anything is run), or as
            :func:`~rag_research.evaluation.runner.evaluate`.
    """
    data = {name: load_dataset(next(iter(rows.values()))) for name, rows in configs.items()}
    first = next(iter(next(iter(configs.values())).values()))
    models = load_models(first, ArtifactStore(first.run.store))
    for name, rows in configs.items():
        own = {row: placed(config, directory / name, row) for row, config in rows.items()}
        results: list[Results] = []
        try:
            results.extend(run_series(own, data[name], models))
        finally:
            if results:
                tell(Outcome(table, name, results, first.evaluation.bootstrap_samples))
        if results[-1].partial:
            return


def _models(results: Sequence[Results]) -> str:
    """Reader and encoder of the first run that used one, as its configuration names them."""
    found = []
    for kind, name in (("llm", "reader"), ("encoder", "encoder")):
        users = (run.provenance for run in results if run.provenance.get("models", {}).get(kind))
        chosen: Mapping[str, Any] = next((told["config"][kind] for told in users), {})
        found.append(f"{name} {chosen.get('model', chosen.get('name', 'none'))}")
    return ", ".join(found)
