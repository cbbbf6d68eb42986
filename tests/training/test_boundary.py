"""The training command as a user runs it: debug run, training, resume, export, two processes."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from rag_research.errors import ArtifactError, ModelNotFoundError
from rag_research.extract.boundary import Boundary
from rag_research.extract.boundary_checkpoint import load_checkpoint, load_table
from rag_research.runtime.figures import read_history
from rag_research.training.boundary_run import MONITOR


@pytest.fixture(scope="module")
def command(training_script: Callable[[str], ModuleType]) -> ModuleType:
    return training_script("boundary")


def test_a_trained_network_finds_the_joins(
    command: ModuleType, settings: list[str], toy_folder: Path, tmp_path: Path
) -> None:
    assert command.main([*settings, "trainer.epochs=20", "trainer.patience=20"]) == 0
    path = tmp_path / "run" / "boundary.safetensors"
    card = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert card["validation"]["toy"]["average_precision"] > 0.8
    assert card["data"]["training"] == 24 and card["data"]["validation"] == 6
    assert len(card["data"]["files"]["toy_val.jsonl"]) == 64
    assert card["config"]["seed"] == 0 and card["command"]
    assert (tmp_path / "run" / "csv" / "version_0" / "metrics.csv").is_file()
    segmenter = Boundary(Boundary.Config(checkpoint=str(path)))
    text = "The ship sail storm anchor. The wave sailor ship. The captain harbour sail storm. "
    text += "The king crown palace queen. The throne duke castle. The heir king queen crown."
    assert (0, text.index("The king")) in segmenter.segment([text])[0]


def test_checkpoints_hold_plain_types(
    command: ModuleType, settings: list[str], tmp_path: Path
) -> None:
    assert command.main([*settings, "trainer.epochs=1", "data.train=[toy_train:20]"]) == 0
    for name in ("best.ckpt", "last.ckpt"):
        kept = torch.load(tmp_path / "run" / name, weights_only=True)
        assert kept["epoch"] == 0 and "hyper_parameters" not in kept


def test_resume_goes_on_where_it_stopped(
    command: ModuleType, settings: list[str], tmp_path: Path
) -> None:
    """Two epochs of four, then two more from the file: the same steps and rates as four at once."""
    from rag_research.config.build import build
    from rag_research.config.compose import compose_dict
    from rag_research.training.boundary_config import BoundaryTrainingConfig
    from rag_research.training.boundary_run import boundary_parts
    from rag_research.training.trainers import make_trainer

    config = build(BoundaryTrainingConfig, compose_dict(settings, name="boundary"))

    def fit(folder: str, stop: int, resume: Path | None = None) -> dict[str, torch.Tensor]:
        module, data = boundary_parts(config)
        trainer = make_trainer(config.trainer, tmp_path / folder, MONITOR)
        if stop < config.trainer.epochs:
            trainer.callbacks.append(_Stop(stop))  # type: ignore[attr-defined]
        trainer.fit(module, data, ckpt_path=resume, weights_only=True)
        assert trainer.current_epoch == stop
        return dict(module.network.state_dict())

    from pytorch_lightning.callbacks import Callback

    class _Stop(Callback):
        def __init__(self, after: int) -> None:
            self.after = after

        def on_validation_epoch_end(self, trainer, module) -> None:  # type: ignore[no-untyped-def]
            if trainer.current_epoch + 1 >= self.after:
                trainer.should_stop = True

    whole = fit("whole", 4)
    fit("half", 2)
    resumed = fit("half", 4, tmp_path / "half" / "last.ckpt")
    first = torch.load(tmp_path / "whole" / "last.ckpt", weights_only=True)
    second = torch.load(tmp_path / "half" / "last.ckpt", weights_only=True)
    assert first["global_step"] == second["global_step"]
    rates = [c["lr_schedulers"][0]["last_epoch"] for c in (first, second)]
    assert rates[0] == rates[1]
    epochs = [[row["epoch"] for row in read_history(tmp_path / name)] for name in ("whole", "half")]
    assert epochs == [[0, 1, 2, 3]] * 2
    assert all(torch.equal(value, resumed[name]) for name, value in whole.items())


@pytest.mark.usefixtures("two_threads")
def test_same_seed_same_network(command: ModuleType, settings: list[str], tmp_path: Path) -> None:
    states = []
    for name in ("a", "b"):
        words = [*settings, f"out={tmp_path / name}", "trainer.epochs=2"]
        assert command.main(words) == 0
        assert torch.get_num_threads() == 1
        states.append(load_checkpoint(str(tmp_path / name / "boundary.safetensors")).network)
    pairs = zip(states[0].parameters(), states[1].parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


def test_mixed_precision_and_focal_loss(
    command: ModuleType, settings: list[str], tmp_path: Path
) -> None:
    words = [*settings, "trainer.precision=bf16-mixed", "loss.name=focal", "trainer.epochs=1"]
    assert command.main([*words, "data.rejoined=1", "data.soft_ends=0.1"]) == 0
    network = load_checkpoint(str(tmp_path / "run" / "boundary.safetensors")).network
    assert all(p.dtype == torch.float32 and p.isfinite().all() for p in network.parameters())


def test_errors_have_words(
    command: ModuleType, settings: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main([*settings, "data.train=[toy_trian]"]) == 2
    assert "toy_trian" in capsys.readouterr().err
    assert command.main([*settings, "data.train=[toy_train:all]"]) == 2
    assert "NAME:N" in capsys.readouterr().err
    assert command.main([*settings, "network.hiden=[4]"]) == 2
    assert "Did you mean 'hidden'" in capsys.readouterr().err
    with pytest.raises(ModelNotFoundError, match="boundary-lihgt"):
        load_checkpoint("boundary-lihgt")


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("data.train=[toy_train,toy_val]", "'toy_val' is named twice, or in validate"),
        ("data.train=[toy_train,toy_train:12]", "'toy_train' is named twice"),
        ("data.limit=0", "limit >= 1"),
        ("data.batch_rows=0", "batch_rows >= 1"),
        ("data.joined=-1", "joined: got -1"),
        ("network.dropout=1.5", "dropout: got 1.5"),
        ("network.hidden=[0]", "sizes of at least 1"),
    ],
)
def test_settings_out_of_range(
    command: ModuleType,
    settings: list[str],
    capsys: pytest.CaptureFixture[str],
    word: str,
    said: str,
) -> None:
    assert command.main([*settings, word]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"passages": [{"title": "A"}]}, "objects with a list of sentences"),
        ({"passages": [{"sentences": ["One.", "Two."]}]}, "1 passages of any data set"),
    ],
)
def test_passages_that_cannot_be_joined(
    command: ModuleType,
    settings: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    row: dict[str, Any],
    said: str,
) -> None:
    path = tmp_path / "passages.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    assert command.main([*settings, f"data.passages={path}"]) == 2
    assert said in capsys.readouterr().err


def test_a_word_table_outlives_its_network(toy_table: Path, tmp_path: Path) -> None:
    """Another version of the features makes a network useless, but not its words."""
    path = tmp_path / "old.safetensors"
    path.write_bytes(toy_table.read_bytes())
    card = json.loads(toy_table.with_suffix(".json").read_text(encoding="utf-8"))
    path.with_suffix(".json").write_text(json.dumps(card | {"feature_version": 0}))
    with pytest.raises(ArtifactError, match="version 0"):
        load_checkpoint(str(path))
    assert load_table(str(path)).words == load_checkpoint(str(toy_table)).table.words


@pytest.mark.slow
def test_two_gloo_processes(
    settings: list[str], tmp_path: Path, in_two_processes: Callable[[str, list[str]], None]
) -> None:
    words = [*settings, "trainer.devices=2", "trainer.strategy=ddp", "trainer.epochs=2"]
    in_two_processes("boundary", words)
    kept = torch.load(tmp_path / "run" / "last.ckpt", weights_only=True)
    assert kept["epoch"] == 1
    assert (tmp_path / "run" / "boundary.safetensors").is_file()
