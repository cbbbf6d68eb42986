"""Several systems in one command: shared models, own folders, one table, exit codes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rag_research.errors import ConfigError, RagResearchError
from rag_research.evaluation import command
from rag_research.evaluation.command import evaluate_all, experiments, run_command
from rag_research.evaluation.results import Results

OFFLINE = ("llm=scripted", "encoder=hashing", "limit=2")


def test_one_system_one_configuration_with_and_without_dashes() -> None:
    [plain] = experiments(["system=closed_book", "limit=3"])
    [dashed] = experiments(["--system=closed_book", "--limit=3"])
    assert plain == dashed
    assert plain.limit == 3


def test_a_comma_list_gives_one_configuration_a_system_in_its_own_folder(tmp_path: Path) -> None:
    configs = experiments(["system=closed_book,bm25_rag", *OFFLINE, f"run.out={tmp_path}"])
    assert [c.system.name for c in configs] == ["closed_book", "bm25_rag"]
    assert [c.run.out for c in configs] == [str(tmp_path / n) for n in ("closed_book", "bm25_rag")]
    assert configs[0].llm == configs[1].llm
    assert configs[0].limit == configs[1].limit == 2


def test_an_unknown_system_in_the_list_is_named_before_anything_runs() -> None:
    with pytest.raises(ConfigError, match="closed_boook"):
        experiments(["system=bm25_rag,closed_boook"])


def arguments(root: Path, *more: str) -> list[str]:
    paths = (f"run.out={root / 'out'}", f"run.store={root / 'store'}", "run.concurrency=1")
    return ["system=closed_book,bm25_rag", *OFFLINE, *paths, *more]


def test_one_model_answers_for_all_systems(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    load = command.load_models

    def counting(*parts: Any) -> Any:
        made.append(load(*parts))
        return made[-1]

    monkeypatch.setattr(command, "load_models", counting)
    assert run_command(arguments(tmp_path, "llm.replies=[a,b,c,d]")) == 0
    [models] = made
    assert len(models.backend.backend.requests) == models.budget.started == 4
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert [row.split("|")[1].strip() for row in rows[2:]] == ["closed_book", "bm25_rag"]
    for name in ("closed_book", "bm25_rag"):
        assert (tmp_path / "out" / name / "results.json").is_file()


def test_two_settings_of_one_system_have_the_names_of_their_folders(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = command.evaluate_all

    def of_one_system(configs: Any) -> Any:
        return (replace(results, name="threadrag") for results in real(configs))

    monkeypatch.setattr(command, "evaluate_all", of_one_system)
    assert run_command(arguments(tmp_path, "llm.replies=[a,b,c,d]")) == 0
    told = capsys.readouterr().out
    rows = [line for line in told.splitlines() if line.startswith("|")]
    assert [row.split("|")[1].strip() for row in rows[2:]] == ["closed_book", "bm25_rag"]
    assert "bm25_rag - closed_book, exact_match" in told


def test_a_failed_question_and_a_spent_budget_give_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(arguments(tmp_path / "a", "llm.replies=[a,b,c]")) == 1
    assert "FAILED: 1 questions of bm25_rag" in capsys.readouterr().out
    replies = "llm.replies=[a,b,c,d]"
    assert run_command(arguments(tmp_path / "b", replies, "budget.calls=3")) == 1
    assert "PARTIAL: bm25_rag asked 1 of 2" in capsys.readouterr().out
    # The same command with a larger budget goes on where it ended: one question is left.
    assert run_command(arguments(tmp_path / "b", replies, "budget.calls=9")) == 0
    assert "PARTIAL" not in capsys.readouterr().out


def test_what_finished_before_an_error_is_still_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = command.evaluate

    def fails_second(config: Any, models: Any) -> Any:
        if config.system.name == "bm25_rag":
            raise RagResearchError("disk full")
        return run(config, models)

    monkeypatch.setattr(command, "evaluate", fails_second)
    with pytest.raises(RagResearchError, match="disk full"):
        run_command(arguments(tmp_path, "llm.replies=[a,b]"))
    assert "| closed_book" in capsys.readouterr().out


def test_a_dry_run_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(arguments(tmp_path, "run.dry_run=true")) == 0
    out = capsys.readouterr().out
    assert "Dry run of closed_book" in out and "Dry run of bm25_rag" in out
    assert list(tmp_path.iterdir()) == []


def test_runs_come_one_by_one(tmp_path: Path) -> None:
    configs = experiments(arguments(tmp_path, "llm.replies=[a,b,c,d]"))
    runs = evaluate_all(configs)
    assert next(runs).system == "closed_book"
    assert not (tmp_path / "out" / "bm25_rag").exists()
    assert next(runs).system == "bm25_rag"


@pytest.mark.parametrize("system", ["closed_book", "dense_rag", "t2rag_rules", "threadrag"])
def test_the_debug_experiment_runs_the_whole_path(system: str, tmp_path: Path) -> None:
    pytest.importorskip("faiss")
    paths = [f"run.out={tmp_path / 'out'}", f"run.store={tmp_path / 'store'}"]
    assert run_command([f"system={system}", "experiment=debug", *paths]) == 0
    results = Results.load(tmp_path / "out")
    assert (results.asked, results.answered, results.failed) == (2, 2, 0)
    assert {row["answer"] for row in results.predictions()} == {"unknown"}


def test_the_debug_experiment_takes_another_model() -> None:
    [config] = experiments(["system=closed_book", "experiment=debug", "llm=transformers_local"])
    assert config.llm.name == "transformers_local"
