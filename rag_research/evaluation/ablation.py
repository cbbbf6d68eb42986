"""An ablation study: a full system, the same without one part at a time, what each was worth."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rag_research.config.fingerprint import fingerprint
from rag_research.evaluation.costs import Calls, calls_of, cost_sheet
from rag_research.evaluation.paired import Gap, gaps_to
from rag_research.evaluation.results import Results
from rag_research.evaluation.series import code_note, not_run_note
from rag_research.evaluation.sheets import Sheet, gaps_sheet, render, results_sheet
from rag_research.runtime.text_files import write_text
from rag_research.trace import plain

FILE = "ablation.json"
FORMAT = 1
FULL = "full"
_LONGEST_NAME = 120  # characters; file systems take names of 255 bytes


@dataclass(frozen=True)
class AblationStudy:
    """What an ablation found.

    Args:
        system: option of the group ``system``.
        dataset: name of the data set.
        results: finished runs, the full system first.
        questions: ablation -> the question it answers.
        unchanged: ablations left out because they change nothing about this system.
        samples: bootstrap resamples.
        directory: holds a folder for each run.
        chosen: the ablations that were asked for, where not all of the system were. Such a study
            has files of its own beside those of the study of all.
    """

    system: str
    dataset: str
    results: Sequence[Results]
    questions: Mapping[str, str]
    unchanged: Sequence[str]
    samples: int
    directory: Path
    chosen: Sequence[str] = ()

    @cached_property
    def gaps(self) -> list[Gap]:
        """Differences to the full system; a run that the budget cut short has none."""
        whole = [run for run in self.results if not run.partial]
        return gaps_to(whole[0], whole[1:], self.samples) if whole else []

    @property
    def calls(self) -> Mapping[str, Calls]:
        """LLM calls by run."""
        return {run.name: calls_of(run) for run in self.results}

    def sheets(self) -> list[Sheet]:
        """Figures, differences, costs."""
        title = f"Ablation of {self.system} on {self.dataset}"
        sheets = [results_sheet(self.results, title)]
        if self.gaps:
            sheets.append(gaps_sheet(self.gaps, FULL))
        return [*sheets, cost_sheet(self.results, [*self._asked(), *code_note(self.results)])]

    def _asked(self) -> list[str]:
        ran = {run.name for run in self.results}
        told = [f"{name}: {text}" for name, text in self.questions.items() if name in ran]
        if self.unchanged:
            told.append(
                f"Left out, since they change nothing about {self.system}: "
                f"{', '.join(self.unchanged)}."
            )
        waiting = [name for name in self.questions if name not in ran]
        if waiting:
            told.append(not_run_note(", ".join(waiting)))
        return told

    def to_plain(self) -> dict[str, Any]:
        """JSON types; shares from 0 to 1."""
        runs = [
            {
                "name": run.name,
                "question": self.questions.get(run.name),
                "directory": run.name,
                "fingerprint": run.fingerprint,
                "asked": run.asked,
                "answered": run.answered,
                "failed": run.failed,
                "partial": run.partial,
                "metrics": plain(run.metrics),
                "calls": plain(calls_of(run)),
                "index": plain(run.index_total),
                "query": plain(run.query_total),
                "seconds": dict(run.seconds),
                "commit": run.provenance.get("code", {}).get("commit"),
            }
            for run in self.results
        ]
        return {
            "format": FORMAT,
            "system": self.system,
            "dataset": self.dataset,
            "reference": FULL,
            "samples": self.samples,
            "runs": runs,
            "differences": [plain(gap) for gap in self.gaps],
            "calls": plain(sum(self.calls.values(), Calls())),
            "unchanged": list(self.unchanged),
            "chosen": list(self.chosen),
        }

    def show(self, form: str) -> str:
        """As ``text``, ``markdown``, ``latex`` or ``json``."""
        if form == "json":
            return json.dumps(self.to_plain(), indent=2, ensure_ascii=False)
        return render(self.sheets(), form)

    def save(self) -> None:
        """Write ``ablation.json`` and ``ablation.md``, or ``ablation-CHOSEN.json`` and ``.md``."""
        self.directory.mkdir(parents=True, exist_ok=True)
        names = "+".join(sorted(self.chosen))
        if len(names) > _LONGEST_NAME:
            names = fingerprint(sorted(self.chosen))
        file = self.directory / (f"ablation-{names}.json" if names else FILE)
        write_text(file, self.show("json") + "\n")
        write_text(file.with_suffix(".md"), self.show("markdown") + "\n")
