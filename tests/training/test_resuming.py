"""A training goes on as the run it was, or says why it cannot."""

import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("pytorch_lightning")

import torch

from rag_research.training.resuming import Kept


@pytest.fixture(scope="module")
def command(training_script: Callable[[str], ModuleType]) -> ModuleType:
    return training_script("boundary")


@pytest.fixture
def finished(command: ModuleType, settings: list[str], tmp_path: Path) -> list[str]:
    """A command that has run two epochs in ``tmp_path / "run"``."""
    words = [*settings, "trainer.epochs=2"]
    assert command.main(words) == 0
    return words


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["trainer.epochs=4"], "trainer.epochs was 2, is 4"),
        (["trainer.devices=2"], "trainer.devices was 1, is 2"),
        (["network.hidden=[8]"], "network.hidden was [16, 8], is [8]"),
        (["loss.smoothing=0.1", "seed=3"], "loss.smoothing was 0.02, is 0.1; seed was 0, is 3"),
        (["out={folder}/elsewhere"], "out={folder}/run"),
        (["trainer.resume={folder}/run/lst.ckpt"], "Did you mean 'last.ckpt'?"),
        (["trainer.resume={folder}/run/history.jsonl"], "no checkpoint that says its settings"),
    ],
)
def test_what_would_be_another_run_is_refused(
    command: ModuleType,
    finished: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    more: list[str],
    message: str,
) -> None:
    before = {path.name for path in (tmp_path / "run").iterdir()}
    resumed = [*finished, f"trainer.resume={tmp_path}/run/last.ckpt"]
    assert command.main([*resumed, *(word.format(folder=tmp_path) for word in more)]) == 2
    assert message.format(folder=tmp_path) in capsys.readouterr().err
    assert {path.name for path in (tmp_path / "run").iterdir()} == before


def test_changed_data_are_refused(
    command: ModuleType,
    settings: list[str],
    toy_folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = shutil.copytree(toy_folder, tmp_path / "data")
    words = [*settings, f"data.folder={folder}", "trainer.epochs=1"]
    assert command.main(words) == 0
    rows = (folder / "toy_train.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "toy_train.jsonl").write_text("".join(rows[:-1]), encoding="utf-8")
    assert command.main([*words, f"trainer.resume={tmp_path}/run/last.ckpt"]) == 2
    assert "files.toy_train.jsonl has changed" in capsys.readouterr().err


def test_a_finished_run_is_exported_again(
    command: ModuleType, finished: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = (tmp_path / "run" / "boundary.safetensors").read_bytes()
    resumed = [*finished, f"trainer.resume={tmp_path}/run/last.ckpt"]
    assert command.main(resumed) == 0
    assert (tmp_path / "run" / "boundary.safetensors").read_bytes() == weights
    (tmp_path / "run" / "best.ckpt").unlink()
    assert command.main(resumed) == 2
    assert "trainer.keep=last" in capsys.readouterr().err
    assert command.main([*resumed, "trainer.keep=last"]) == 0


def test_the_best_epoch_is_remembered_where_the_folder_was_moved(tmp_path: Path) -> None:
    before = Kept(tmp_path / "before", "best", monitor="val/score", mode="max")
    before.best_model_score = torch.tensor(0.9)
    before.best_k_models = {str(tmp_path / "before" / "best.ckpt"): torch.tensor(0.9)}
    after = Kept(tmp_path / "after", "best", monitor="val/score", mode="max")
    after.load_state_dict(before.state_dict())
    assert after.best_model_score == 0.9
    assert after.best_k_models == before.best_k_models


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["data.validate=[]", "data.held_out=0"], "data.validate: "),
        (["data.train=[toy_train:1]", "data.validate=[]"], "data.train: "),
    ],
)
def test_an_empty_part_of_the_data_is_named(
    command: ModuleType,
    settings: list[str],
    capsys: pytest.CaptureFixture[str],
    more: list[str],
    message: str,
) -> None:
    assert command.main([*settings, *more]) == 2
    assert message in capsys.readouterr().err
