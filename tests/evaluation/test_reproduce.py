"""`rag-research reproduce`: the same inputs give the same bytes, and what differs is named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag_research.cli import main
from rag_research.errors import ConfigError, DataError
from rag_research.evaluation.reproduce import reproduce, resolved
from rag_research.evaluation.results import Results
from rag_research.evaluation.runner import evaluate


@pytest.fixture
def finished(command_lab: Any) -> Path:
    """The folder of a finished run whose replies are in the store."""
    config = command_lab.config()
    results = evaluate(config, command_lab.models(config, cache=True)[0])
    return results.directory


def edit(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    path = folder / "results.json"
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))


def test_cached_replies_give_the_same_bytes(
    finished: Path, command_lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", str(finished)]) == 0
    out = capsys.readouterr().out
    again = finished.with_name("out.reproduced")
    for name in ("predictions.jsonl", "failures.jsonl"):
        assert (again / name).read_bytes() == (finished / name).read_bytes()
    assert Results.load(again).metrics == Results.load(finished).metrics
    assert command_lab.scripts[0].requests == []
    assert "10 questions, 11 LLM calls, 11 of them from the store" in out
    assert "same     predictions.jsonl, 10 lines" in out
    assert out.splitlines()[-1].startswith("Reproduced")


def test_a_row_may_be_named_by_its_file_and_each_time_gets_its_own_folder(
    finished: Path, command_lab: Any
) -> None:
    for name in ("out.reproduced", "out.reproduced-2"):
        reproduction = reproduce(finished / "results.json")
        assert reproduction.same
        assert reproduction.again.directory == finished.with_name(name)


def test_another_reply_is_found(
    finished: Path, command_lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = (finished / "predictions.jsonl").read_text().splitlines()
    row = json.loads(rows[4])
    rows[4] = json.dumps({**row, "answer": "Rome"}, ensure_ascii=False)
    (finished / "predictions.jsonl").write_text("\n".join(rows) + "\n")
    edit(finished, lambda value: value["metrics"]["exact_match"].update(mean=0.5))
    assert main(["reproduce", str(finished)]) == 1
    out = capsys.readouterr().out
    assert "DIFFERS  predictions.jsonl, 10 lines, in line 5" in out
    assert "DIFFERS  metrics.exact_match.mean: 0.5 -> 0.6" in out
    assert "NOT REPRODUCED: 2 differences." in out


def test_changed_data_are_named(
    finished: Path, command_lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", str(finished), "dataset.size=11"]) == 1
    out = capsys.readouterr().out
    assert "DIFFERS  dataset.passages: 10 -> 11" in out
    assert "DIFFERS  dataset.corpus_fingerprint: " in out
    assert "DIFFERS  dataset.asked_fingerprint: " in out


def test_other_code_and_packages_are_noted_but_do_not_count(
    finished: Path, command_lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def older(value: dict[str, Any]) -> None:
        value["provenance"]["code"]["commit"] = "0123"
        value["provenance"]["packages"]["numpy"] = "1.26.0"

    edit(finished, older)
    assert main(["reproduce", str(finished)]) == 0
    out = capsys.readouterr().out
    assert "note     code.commit: 0123 -> " in out
    assert "note     packages.numpy: 1.26.0 -> " in out


def test_another_version_of_a_prompt_counts(finished: Path, command_lab: Any) -> None:
    edit(finished, lambda value: value["provenance"]["prompts"].update({"test/answer@0": "abc"}))
    reproduction = reproduce(finished)
    assert not reproduction.same
    assert list(reproduction.inputs) == ["prompts.test/answer@0: abc -> None"]


def test_a_lost_store_asks_again_and_says_so(finished: Path, command_lab: Any) -> None:
    shutil.rmtree(command_lab.root / "cache.sqlite", ignore_errors=True)
    for path in command_lab.root.glob("cache.sqlite*"):
        path.unlink()
    reproduction = reproduce(finished)
    assert reproduction.same  # the script answers as before
    assert "11 LLM calls, 0 of them from the store" in str(reproduction)


def test_a_row_alone_has_its_figures_compared_and_says_so(
    finished: Path, command_lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = command_lab.root / "row"
    folder.mkdir()
    shutil.copy(finished / "results.json", folder)
    assert main(["reproduce", str(folder / "results.json")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "note     predictions.jsonl is not beside results.json: not compared" in lines
    assert "same     metrics" in lines
    assert not any(line.startswith("same") and "predictions" in line for line in lines)
    assert lines[-1] == (
        "Reproduced in part: only the figures are known to be the same; predictions.jsonl and "
        "failures.jsonl could not be compared."
    )
    shutil.copy(finished / "predictions.jsonl", folder)
    told = str(reproduce(folder)).splitlines()[-1]
    assert "predictions and figures are known to be the same; failures.jsonl could not" in told
    edit(folder, lambda value: value["metrics"]["exact_match"].update(mean=0.5))
    assert main(["reproduce", str(folder)]) == 1


def test_what_cannot_be_run_again_is_an_error(finished: Path, command_lab: Any) -> None:
    results = Results.load(finished)
    with pytest.raises(ConfigError, match=r"run\.out: .* holds a run"):
        resolved(results, [f"run.out={finished}"])
    with pytest.raises(ConfigError, match=r"system\.kk: OverlapConfig has no field 'kk'"):
        resolved(results, ["system.kk=3"])
    with pytest.raises(ConfigError, match="dotted key"):
        resolved(results, ["system"])
    for setting in ("llm.name.x.y=3", "run.cache.x=3", "run.wrong.x"):
        with pytest.raises(ConfigError, match=f"{setting}: expected a dotted key"):
            resolved(results, [setting])
    for text in ("[", "2020-13-45"):
        with pytest.raises(ConfigError, match=r"^run\.store: '.*' is not YAML"):
            resolved(results, [f"run.store={text}"])
    edit(finished, lambda value: value["provenance"].pop("config"))
    with pytest.raises(DataError, match="does not hold its configuration"):
        reproduce(finished)
