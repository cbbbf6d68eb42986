"""An ablation study from the command line to its files."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from rag_research.errors import ConfigError, RagResearchError
from rag_research.evaluation.ablate import make_plan, run_command
from rag_research.evaluation.metrics import register_metric
from rag_research.llm.base import Request
from rag_research.types import Answer, Question


def told(lab: Any, file: str = "ablation.json") -> dict[str, Any]:
    value: dict[str, Any] = json.loads((lab.root / "out" / file).read_text())
    return value


def test_a_study_runs_every_ablation_and_says_what_it_was_worth(
    command_lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(command_lab.words()) == 0
    out = capsys.readouterr().out
    study = told(command_lab)
    assert [run["name"] for run in study["runs"]] == ["full", "one_passage", "two_passages"]
    assert study["unchanged"] == ["three_passages"]
    assert study["runs"][1]["question"] == "Is one passage enough?"
    # The answer is read from the first passage whatever k is: no difference, certainly.
    gaps = {(g["name"], g["metric"]): g for g in study["differences"]}
    gap = gaps["one_passage", "exact_match"]
    assert (gap["difference"], gap["low"], gap["high"], gap["n"]) == (0.0, 0.0, 0.0, 10)
    assert gap["p"] == gap["holm"] == 1.0
    assert ("one_passage", "recall@5") in gaps
    assert ("one_passage", "answer_length") not in gaps
    assert "Ablation of overlap on capitals" in out
    assert "Is one passage enough?" in out
    assert "Left out, since they change nothing about overlap: three_passages." in out


def test_replies_that_did_not_change_come_from_the_store(
    command_lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run_command(command_lab.words())
    [script] = command_lab.scripts
    assert len(script.requests) == 11  # one summary and ten answers, for three runs together
    runs = {run["name"]: run["calls"] for run in told(command_lab)["runs"]}
    assert runs["full"] == {"asked": 11, "reused": 0}
    assert runs["one_passage"] == runs["two_passages"] == {"asked": 11, "reused": 11}
    assert told(command_lab)["calls"] == {"asked": 33, "reused": 22}
    assert "66.7 % of 33 calls in all" in capsys.readouterr().out


def test_finished_runs_are_loaded_and_missing_ones_are_run(command_lab: Any) -> None:
    run_command(command_lab.words())
    first = told(command_lab)
    seen = (command_lab.root / "out" / "full" / "results.json").stat().st_mtime_ns
    shutil.rmtree(command_lab.root / "out" / "two_passages")
    run_command(command_lab.words())
    assert (command_lab.root / "out" / "full" / "results.json").stat().st_mtime_ns == seen
    assert command_lab.scripts[1].requests == []
    again = told(command_lab)
    assert again["differences"] == first["differences"]
    assert [r["name"] for r in again["runs"]] == ["full", "one_passage", "two_passages"]


def test_a_changed_setting_is_run_again_in_the_same_folder(command_lab: Any) -> None:
    run_command(command_lab.words("limit=4"))
    run_command(command_lab.words("limit=6"))
    assert {run["asked"] for run in told(command_lab)["runs"]} == {6}
    run_command(command_lab.words("limit=6", "dataset=fewer_capitals"))
    assert {run["asked"] for run in told(command_lab)["runs"]} == {4}


def test_some_ablations_can_be_chosen(command_lab: Any) -> None:
    run_command(command_lab.words("ablations=[one_passage]"))
    study = told(command_lab, "ablation-one_passage.json")
    assert [run["name"] for run in study["runs"]] == ["full", "one_passage"]
    assert study["chosen"] == ["one_passage"]
    with pytest.raises(ConfigError, match=r"ablations: there is no 'one_pasage'.*'one_passage'"):
        run_command(command_lab.words("ablations=[one_pasage]"))


@pytest.mark.parametrize("own_folder", [True, False])
def test_a_choice_leaves_the_study_of_all_as_it_was(
    own_folder: bool, command_lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(command_lab.root)
    words = [w for w in command_lab.words() if own_folder or not w.startswith("run.out")]
    run_command(words)
    [whole] = command_lab.root.glob("out/ablation.json" if own_folder else "runs/*/ablation.json")
    before = {file: file.read_bytes() for file in whole.parent.glob("ablation*")}
    run_command([*words, "ablations=[two_passages,one_passage]"])
    assert {file: file.read_bytes() for file in before} == before
    assert {file.name for file in whole.parent.glob("ablation*")} == {
        "ablation.json", "ablation.md", "ablation-one_passage+two_passages.json",
        "ablation-one_passage+two_passages.md",
    }  # fmt: skip
    assert command_lab.scripts[-1].requests == []  # the runs are those of the study of all
    every = "ablations=[three_passages,two_passages,one_passage]"
    run_command([*words, every])
    assert len(list(whole.parent.glob("ablation*.json"))) == 2
    assert json.loads(whole.read_text())["chosen"] == []


def test_many_chosen_names_make_a_short_file_name(command_lab: Any) -> None:
    folder = command_lab.root / "package" / "configs" / "ablation" / "overlap"
    names = [f"{'a_long_name_' * 8}{number}" for number in range(3)]
    for number, name in enumerate(names):
        (folder / f"{name}.yaml").write_text(f"# Why?\nsystem:\n  k: {number + 4}\n")
    run_command(command_lab.words("limit=1", f"ablations=[{','.join(names)}]"))
    [file] = (command_lab.root / "out").glob("ablation*.json")
    assert re.fullmatch(r"ablation-[0-9a-f]{16}\.json", file.name)
    assert told(command_lab, file.name)["chosen"] == names


def test_three_failed_questions_are_shown_and_asked_again(
    command_lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = [1, 2, 4]

    def fails(request: Request) -> str:
        text = request.messages[-1].content
        if any(f"Country {n} ?" in text for n in broken):
            raise ValueError("unreadable")
        return str(command_lab.read_the_passage(request))

    command_lab.reply = fails
    assert run_command(command_lab.words("ablations=[one_passage]")) == 1
    out = capsys.readouterr().out
    assert out.count("10/7/3") == 2
    assert "FAILED: 3 questions of full" in out
    assert "FAILED: 3 questions of one_passage" in out
    file = "ablation-one_passage.json"
    gaps = {g["metric"]: g for g in told(command_lab, file)["differences"]}
    assert gaps["exact_match"]["n"] == 10  # wrong in both, not left out
    broken.clear()
    assert run_command(command_lab.words("ablations=[one_passage]")) == 0
    assert {run["failed"] for run in told(command_lab, file)["runs"]} == {0}
    assert len(command_lab.scripts[1].requests) == 3


def test_a_metric_that_raises_fails_the_study(command_lab: Any) -> None:
    @register_metric("is_undecided", version=1)
    def is_undecided(answer: Answer, question: Question) -> float:
        raise ZeroDivisionError("nothing to divide by")

    with pytest.raises(RagResearchError, match=r"is_undecided.*ZeroDivisionError"):
        run_command(command_lab.words("evaluation.metrics=[is_undecided]"))
    assert not (command_lab.root / "out" / "ablation.json").exists()


def test_what_the_budget_left_is_not_compared_and_goes_on_later(
    command_lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(command_lab.words("budget.calls=5", "run.concurrency=1")) == 1
    out = capsys.readouterr().out
    assert "PARTIAL: full asked 4 of 10 questions" in out
    assert "NOT RUN: one_passage, two_passages." in out
    assert "Paired differences" not in out
    assert run_command(command_lab.words("budget.calls=50", "run.concurrency=1")) == 0
    assert len(told(command_lab)["runs"]) == 3


@pytest.mark.parametrize(
    ("form", "shape"),
    [
        ("text", r"^one_passage +\+0\.0 \[\+0\.0, \+0\.0\] p=1\.000"),
        ("markdown", r"^\| one_passage +\| +\+0\.0 \[\+0\.0, \+0\.0\] p=1\.000"),
        ("latex", r"^one\\_passage & \+0\.0 \{\[\}\+0\.0, \+0\.0\{\]\} p=1\.000"),
        ("json", r'^ +"reference": "full"'),
    ],
)
def test_formats(
    form: str, shape: str, command_lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run_command(command_lab.words("limit=3"), form)
    out = capsys.readouterr().out
    assert re.search(shape, out, re.MULTILINE), out
    if form == "json":
        assert json.loads(out) == told(command_lab)


def test_a_dry_run_writes_nothing(command_lab: Any, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["system=t2rag_rules", "dataset=sample_world", "limit=2", "run.dry_run=true",
             "llm=scripted", "encoder=hashing", "ablations=[single_round]",
             f"run.out={command_lab.root / 'out'}"]  # fmt: skip
    assert run_command(words) == 0
    out = capsys.readouterr().out
    assert out.count("Dry run of t2rag") == 2
    assert not (command_lab.root / "out").exists()


def test_an_option_has_the_ablations_of_its_system_or_its_own() -> None:
    words = ["dataset=sample_world", "llm=scripted", "encoder=hashing"]
    plan = make_plan(["system=t2rag_rules", *words])
    assert plan.unchanged == ["rules_extractor"]
    assert {"llm_extractor", "single_round"} <= set(plan.configs)
    assert "no_diffusion" in make_plan(["system=threadrag_edp", *words]).configs
    assert make_plan(["system=t2rag", *words]).unchanged == ["llm_extractor"]
    with pytest.raises(ConfigError, match=r"no ablations of 'bm25_rag'\. Known: .*t2rag"):
        make_plan(["system=bm25_rag", *words])


def test_without_a_folder_the_study_is_named_after_what_it_is(
    command_lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(command_lab.root)
    words = [word for word in command_lab.words("limit=2") if not word.startswith("run.out")]
    run_command(words)
    [folder] = (command_lab.root / "runs").iterdir()
    assert re.fullmatch("ablate-overlap-capitals-[0-9a-f]{16}", folder.name)
    assert {p.name for p in folder.iterdir() if p.is_dir()} == {
        "full", "one_passage", "two_passages",
    }  # fmt: skip
    assert Path(folder / "ablation.md").read_text().startswith("**Ablation of overlap")
