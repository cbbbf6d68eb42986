"""Going on with an interrupted training: in its own folder, with the settings it began with."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Callback, ModelCheckpoint

from rag_research.config.build import to_dict
from rag_research.corpus.records import existing
from rag_research.errors import ConfigError
from rag_research.runtime.artifacts import differences
from rag_research.runtime.carriers import sha256_of

KEY = "settings"
_CHOSEN_AFTERWARDS = ("trainer", "keep")  # both epochs lie in the folder


class Settings(Callback):
    """Writes the settings that decide what is learned into every checkpoint, as plain values.

    Args:
        config: of the whole run.
    """

    def __init__(self, config: Any) -> None:
        self.settings = deciding(config)

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """See the class."""
        checkpoint[KEY] = self.settings


class Kept(ModelCheckpoint):
    """Remembers its best epoch in a folder that was moved; Lightning would forget it."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """See Lightning."""
        super().load_state_dict({**state_dict, "dirpath": self.dirpath})


def deciding(config: Any) -> dict[str, Any]:
    """The settings that decide what is learned, and what the named files hold.

    Raises:
        DataError: a file of the training data is missing.
    """
    settings: dict[str, Any] = to_dict(config, with_inert=False)
    group, name = _CHOSEN_AFTERWARDS
    settings[group] = {key: value for key, value in settings[group].items() if key != name}
    settings["files"] = file_hashes(config.data.files)
    return settings


def file_hashes(files: Iterable[Path]) -> dict[str, str]:
    """SHA-256 of each file, by its name."""
    return {file.name: sha256_of(file) for file in files}


def check_resume(config: Any) -> None:
    """Refuse a ``trainer.resume`` that would not be the run it goes on with.

    Args:
        config: of the whole run, with ``trainer`` and ``out``.

    Raises:
        DataError: no such checkpoint, or a file of the training data is missing.
        ConfigError: it lies in another folder than ``out``, its best epoch is gone, it cannot be
            read, or it was trained with other settings or data.
    """
    if config.trainer.resume is None:
        return
    path = existing(Path(config.trainer.resume), "checkpoint")
    if path.resolve().parent != Path(config.out).resolve():
        raise ConfigError(
            f"trainer.resume: {path} lies in {path.parent}, and out is {config.out}. A run goes on "
            f"in its own folder, where its best epoch and its figures are: say out={path.parent}."
        )
    if config.trainer.keep == "best" and not (path.parent / "best.ckpt").exists():
        raise ConfigError(
            f"trainer.resume: best.ckpt, the run's best epoch, is not in {path.parent}. Put it "
            "back, or say trainer.keep=last."
        )
    try:
        before = torch.load(path, map_location="cpu", weights_only=True)[KEY]
    except (OSError, RuntimeError, KeyError, TypeError, EOFError, pickle.UnpicklingError) as error:
        raise ConfigError(
            f"trainer.resume: {path} is no checkpoint that says its settings ({error!r}). It is "
            "damaged, or of an earlier version: start the training again."
        ) from error
    if "files" not in before:
        raise ConfigError(
            f"trainer.resume: {path} is of an earlier version, which did not note what the data "
            "files held: start the training again."
        )
    changed = [
        f"{n} has changed" if n.startswith("files.") else f"{n} was {b!r}, is {a!r}"
        for n, b, a in differences(before, deciding(config))
    ]
    if changed:
        raise ConfigError(
            f"trainer.resume: {path} was trained with other settings: {'; '.join(changed)}. Give "
            "the ones it began with, or start a new run in another folder."
        )
