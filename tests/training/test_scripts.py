"""What every training script does: debug runs, wandb, the figures of its epochs."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from rag_research.runtime.figures import read_history, read_summary
from rag_research.training import boundary_run, selector_module


@dataclass
class Script:
    name: str
    command: ModuleType
    words: list[str]
    monitor: str


@pytest.fixture(params=["boundary", "selector"])
def script(
    request: pytest.FixtureRequest,
    training_script: Callable[[str], ModuleType],
    settings: list[str],
    selector_settings: list[str],
) -> Script:
    name = request.param
    words, monitor = {
        "boundary": (settings, boundary_run.MONITOR),
        "selector": (selector_settings, selector_module.MONITOR),
    }[name]
    return Script(name, training_script(name), words, monitor)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("trainer.epochs=0", "epochs >= 1"),
        ("trainer.devices=0", "devices: got 0"),
        ("optimiser.learning_rate=-1", "learning_rate above 0"),
        ("seed=-1", "seed: got -1"),
        ("threads=0", "threads: got 0"),
    ],
)
def test_numbers_out_of_range_have_words(
    script: Script, capsys: pytest.CaptureFixture[str], word: str, said: str
) -> None:
    assert script.command.main([*script.words, word]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is here")
def test_a_device_that_is_not_here(script: Script, capsys: pytest.CaptureFixture[str]) -> None:
    assert script.command.main([*script.words, "trainer.accelerator=gpu"]) == 2
    assert "error: trainer: " in capsys.readouterr().err


def test_help(script: Script, capsys: pytest.CaptureFixture[str]) -> None:
    assert script.command.main(["--help"]) == 0
    assert f"train/{script.name}.py" in capsys.readouterr().out


def test_debug_run_leaves_nothing(script: Script, tmp_path: Path) -> None:
    assert script.command.main([*script.words, "trainer=debug"]) == 0
    assert not list((tmp_path / "run").glob("*.safetensors"))


def test_wandb_offline(
    script: Script,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    wandb_records: Callable[[Path], list[Any]],
) -> None:
    """Settings, losses of steps, figures of epochs, and the exported network."""
    pytest.importorskip("wandb")
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    words = [*script.words, "trainer.logger=wandb", "trainer.epochs=1", "trainer.group=g"]
    assert script.command.main(words) == 0
    records = wandb_records(tmp_path / "run")
    [run] = [r.run for r in records if r.run.run_id]
    assert run.run_group == "g"
    assert {"network", "optimiser", "trainer", "seed"} <= {u.key for u in run.config.update}
    logged = {item.nested_key[0] for r in records for item in r.history.item}
    assert {"train/step_loss", "train/loss", script.monitor, "lr-AdamW", "val/figures"} <= logged
    [network] = [r.artifact for r in records if r.artifact.type == "model"]
    files = {entry.path for entry in network.manifest.contents}
    assert files == {f"{script.name}.safetensors", f"{script.name}.json"}


def test_the_folder_tells_each_epoch_and_the_kept_one(script: Script, tmp_path: Path) -> None:
    words = [*script.words, "trainer.logger=none", "trainer.epochs=2"]
    assert script.command.main(words) == 0
    rows = read_history(tmp_path / "run")
    assert [row["epoch"] for row in rows] == [0, 1]
    assert read_summary(tmp_path / "run") == max(rows, key=lambda row: row[script.monitor])
    assert script.command.main([*words, "trainer.keep=last"]) == 0  # begins the files anew
    rows = read_history(tmp_path / "run")
    assert [row["epoch"] for row in rows] == [0, 1]
    assert read_summary(tmp_path / "run") == rows[-1]
