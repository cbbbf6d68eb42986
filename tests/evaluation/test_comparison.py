"""`rag-research compare`: which runs may be compared, and what is printed."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rag_research.cli import main
from rag_research.errors import ConfigError, DataError
from rag_research.evaluation.comparable import distinct_names, mismatches, require_comparable
from rag_research.evaluation.comparison import run_command
from rag_research.evaluation.paired import gaps_to, pooled_gaps
from rag_research.evaluation.results import Results
from rag_research.evaluation.runner import evaluate
from rag_research.llm.base import Request


def run(lab: Any, name: str, reply: Callable[[Request], str] | None = None, **changes: Any) -> Any:
    config = lab.config(run={"out": str(lab.root / name)}, **changes)
    return evaluate(config, lab.models(config, reply=reply or lab.read_the_passage)[0])


def terse(lab: Any, unless: str = "-") -> Callable[[Request], str]:
    """Right answers without further words, but for one country."""

    def reply(request: Request) -> str:
        text = str(lab.read_the_passage(request))
        return text if unless in request.messages[-1].content else text.removeprefix("It is ")

    return reply


def edited(results: Results, change: Callable[[dict[str, Any]], None]) -> Results:
    """The run again, as if its results had been written differently."""
    path = results.directory / "results.json"
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))
    return Results.load(results.directory)


def test_runs_in_a_table_with_differences_to_the_first(
    lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [run(lab, "wordy"), run(lab, "terse", terse(lab))]
    assert main(["compare", *(str(r.directory) for r in runs)]) == 0
    out = capsys.readouterr().out
    assert "Paired differences to wordy" in out
    # Countries 0, 3, 6 and 9 of ten go from wordy to exact.
    [row] = [line for line in out.splitlines() if line.startswith("terse ") and "p=" in line]
    assert row.split()[1] == "+40.0"
    assert main(["compare", *(str(r.directory) for r in runs), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [r["name"] for r in told["runs"]] == ["wordy", "terse"]
    gap = next(g for g in told["differences"] if g["metric"] == "exact_match")
    assert gap["difference"] == pytest.approx(0.4)


def test_p_values_are_corrected_over_the_rows_of_a_column(lab: Any) -> None:
    wordy = run(lab, "wordy")
    others = [
        replace(run(lab, "a", terse(lab)), name="a"),
        replace(run(lab, "b", terse(lab, "Country 0 ")), name="b"),
    ]
    gaps = {g.name: g for g in gaps_to(wordy, others) if g.metric == "exact_match"}
    assert gaps["b"].difference == pytest.approx(0.3)
    assert gaps["a"].p < gaps["b"].p
    # Holm: the smaller of two is doubled, the larger stays unless the other one is above it.
    assert gaps["a"].holm == pytest.approx(2 * gaps["a"].p)
    assert gaps["b"].holm == pytest.approx(max(gaps["b"].p, gaps["a"].holm))
    alone = next(g for g in gaps_to(wordy, others[:1]) if g.metric == "exact_match")
    assert alone.holm == alone.p


def test_runs_on_other_data_are_refused_with_what_differs(lab: Any) -> None:
    ten, eleven = run(lab, "ten"), run(lab, "eleven", dataset={"name": "capitals", "size": 11})
    with pytest.raises(DataError) as error:
        run_command([ten.directory, eleven.directory])
    told = str(error.value)
    assert "their corpora differ (10 passages, " in told
    assert "against 11 passages, " in told
    assert "different questions, or the gold data differ (10 questions, " in told


def test_runs_on_other_questions_are_refused(lab: Any) -> None:
    with pytest.raises(DataError, match=r"\(10 questions, \w+ against 4 questions, \w+\)"):
        run_command([run(lab, "ten").directory, run(lab, "four", limit=4).directory])


def test_runs_with_other_gold_data_are_refused(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run(lab, "first")
    module = importlib.import_module(type(lab).__module__)
    monkeypatch.setattr(module, "CITIES", ("Rome", *module.CITIES[1:]))
    with pytest.raises(DataError, match="gold data differ"):
        require_comparable([first, run(lab, "second")])


def test_other_versions_of_a_metric_are_refused(lab: Any) -> None:
    first = run(lab, "first")

    def newer(value: dict[str, Any]) -> None:
        value["provenance"]["metric_versions"]["token_f1"] = 2

    second = edited(run(lab, "second"), newer)
    assert list(mismatches(first, second)) == ["token_f1 has version 1 against 2"]
    with pytest.raises(DataError, match="token_f1 has version 1 against 2"):
        run_command([first.directory, second.directory])


def test_a_run_that_the_budget_ended_is_refused(lab: Any) -> None:
    short = run(lab, "short", budget={"calls": 5})
    with pytest.raises(DataError, match=r"its budget ended after \d of 10 questions"):
        run_command([run(lab, "whole").directory, short.directory])


def test_failed_questions_are_shown_and_give_exit_code_1(
    lab: Any, fails_on: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = run(lab, "broken", fails_on("Country 4 "))
    assert run_command([run(lab, "whole").directory, broken.directory]) == 1
    assert "FAILED: 1 questions of broken" in capsys.readouterr().out


def test_two_different_runs_are_needed(lab: Any) -> None:
    one = run(lab, "one")
    for given in ([one.directory], [one.directory, one.directory / ".." / "one"]):
        with pytest.raises(ConfigError, match="at least two different runs"):
            run_command(given)
    with pytest.raises(DataError, match="there are no results"):
        run_command([one.directory, Path("elsewhere")])


def test_runs_by_other_code_are_compared_with_a_warning(
    lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def older(value: dict[str, Any]) -> None:
        value["provenance"]["code"] = {"commit": "0123456789abcdef", "dirty": False}

    first, second = run(lab, "first"), edited(run(lab, "second"), older)
    assert run_command([first.directory, second.directory]) == 0
    assert "0123456789ab second" in capsys.readouterr().out


def test_names_tell_runs_apart(lab: Any) -> None:
    a, b = run(lab, "a"), run(lab, "b")
    assert distinct_names([a]) == ["overlap"]
    assert distinct_names([a, b]) == ["a", "b"]


def on_another_data_set(results: Results, name: str) -> Results:
    def change(value: dict[str, Any]) -> None:
        value["dataset"] = value["provenance"]["dataset"]["name"] = name

    return edited(results, change)


def test_differences_over_several_data_sets(lab: Any, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [
        (run(lab, "terse", terse(lab)), run(lab, "wordy")),
        (
            on_another_data_set(run(lab, "terse2", terse(lab, "Country 0 "), limit=4), "second"),
            on_another_data_set(run(lab, "wordy2", limit=4), "second"),
        ),
    ]
    gaps = {g.name: g for g in pooled_gaps(pairs) if g.metric == "exact_match"}
    first, second = pairs[0][0].dataset, "second"
    assert list(gaps) == [first, second, "all"]
    # Four of ten questions, one of four, and so five of fourteen.
    assert [gaps[name].n for name in (first, second, "all")] == [10, 4, 14]
    assert gaps[first].difference == pytest.approx(0.4)
    assert gaps[second].difference == pytest.approx(0.25)
    assert gaps["all"].difference == pytest.approx(5 / 14)
    assert gaps["all"].holm == gaps["all"].p
    assert gaps[first].holm == pytest.approx(2 * gaps[first].p)

    runs = [str(r.directory) for r, _ in pairs]
    others = [str(r.directory) for _, r in pairs]
    assert main(["compare", *runs, "--minus", *others]) == 0
    out = capsys.readouterr().out
    [row] = [line for line in out.splitlines() if line.startswith("all ")]
    assert row.split()[1] == "+35.7"
    assert main(["compare", *runs, "--minus", *others, "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {g["name"] for g in told["differences"]} == {first, second, "all"}


def test_what_cannot_be_pooled(lab: Any, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = run(lab, "a"), run(lab, "b", terse(lab))
    with pytest.raises(DataError, match="would count twice"):
        pooled_gaps([(a, b), (a, b)])
    other = on_another_data_set(run(lab, "c"), "second")
    with pytest.raises(DataError, match="different data sets"):
        pooled_gaps([(a, other)])
    runs = [str(a.directory), str(b.directory)]
    assert main(["compare", *runs, "--minus", runs[0]]) == 2
    assert "2 runs and 1 after --minus" in capsys.readouterr().err
