"""Figures of the page are those that other commands print."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rag_research.evaluation.comparison import run_command
from rag_research.evaluation.report.overview import paired
from rag_research.evaluation.results import Results


def with_samples(folder: Path, samples: int) -> Path:
    file = folder / "results.json"
    value = json.loads(file.read_text(encoding="utf-8"))
    value["provenance"]["config"]["evaluation"] = {"bootstrap_samples": samples}
    file.write_text(json.dumps(value), encoding="utf-8")
    return folder


def test_differences_are_those_of_compare(folders, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [
        with_samples(folders.write("t2rag", lambda n: n == 0), 9),
        with_samples(folders.write("tog3", lambda n: n != 1), 9),
    ]
    run_command(runs, "json")
    told = json.loads(capsys.readouterr().out)
    assert told["samples"] == 9
    assert paired([Results.load(run) for run in runs]) == told["differences"]
    assert told["differences"][0]["p"] >= 0.2  # 2 / (9 + 1); 1,000 resamples give less
