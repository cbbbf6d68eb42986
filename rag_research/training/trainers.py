"""Lightning trainers from plain settings: loggers, checkpointing, early stop, optimiser."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import EarlyStopping, LearningRateMonitor
from pytorch_lightning.loggers import CSVLogger, WandbLogger
from pytorch_lightning.utilities.exceptions import (  # type: ignore[attr-defined]
    MisconfigurationException,
)
from torch import nn

from rag_research.config.build import to_dict
from rag_research.errors import ConfigError
from rag_research.training.callbacks.history import History
from rag_research.training.callbacks.wandb_export import log_export
from rag_research.training.callbacks.wandb_mode import wandb_mode
from rag_research.training.resuming import Kept, Settings
from rag_research.training.trainer_config import OptimiserConfig, TrainerConfig

BEST = "best"
Figures = dict[str, dict[str, float]]


def make_trainer(
    config: TrainerConfig, out: Path, monitor: str | None, told: Mapping[str, Any] | None = None
) -> pl.Trainer:
    """A trainer that keeps the best and the last checkpoint in ``out``.

    Args:
        config: see :class:`TrainerConfig`.
        out: folder of logs and checkpoints.
        monitor: the logged figure that is to grow; ``None`` where nothing is validated, so that
            no epoch is the best.
        told: settings of the whole run, for wandb.

    Raises:
        ConfigError: this machine has not what the settings ask for.
    """
    # Batches come whole out of memory: workers would only copy them.
    warnings.filterwarnings("ignore", message=".*does not have many workers.*")
    warnings.filterwarnings("ignore", message="Checkpoint directory .* exists and is not empty")
    warnings.filterwarnings("ignore", message=".*IterableDataset.*has `__len__` defined.*")
    logging.getLogger("pytorch_lightning.utilities.rank_zero").setLevel(logging.WARNING)
    callbacks: list[pl.Callback] = []
    if monitor is not None:
        callbacks += [
            Kept(out, BEST, monitor=monitor, mode="max", enable_version_counter=False),
            EarlyStopping(monitor, mode="max", patience=config.patience),
        ]
    # `save_last` would write only where the figure grew, and a resumed run would lose epochs.
    callbacks.append(Kept(out, "last", enable_version_counter=False))
    if not config.fast_dev_run:
        callbacks.append(History(out, monitor, config.keep))
    if config.logger != "none":
        callbacks.append(LearningRateMonitor("step"))
    try:
        return _trainer(config, out, callbacks, _logger(config, out, told))
    except MisconfigurationException as error:
        raise ConfigError(f"trainer: {error}") from error


def _trainer(
    config: TrainerConfig, out: Path, callbacks: list[pl.Callback], logger: Any
) -> pl.Trainer:
    return pl.Trainer(
        max_epochs=config.epochs,
        accelerator=config.accelerator,
        devices=config.devices,
        strategy=config.strategy,
        precision=config.precision,
        logger=logger,
        callbacks=callbacks,
        fast_dev_run=config.fast_dev_run,
        enable_progress_bar=config.progress,
        enable_model_summary=False,
        log_every_n_steps=1,
        gradient_clip_val=1.0,
        num_sanity_val_steps=0,
    )


def fit(
    module: pl.LightningModule,
    data: pl.LightningDataModule,
    config: TrainerConfig,
    out: Path,
    monitor: str,
) -> bool:
    """Train, and put the tensors of the epoch that is kept into ``module``.

    Args:
        module: what is trained.
        data: what it is trained on.
        config: see :class:`TrainerConfig`; ``resume`` is followed.
        out: folder of logs and checkpoints.
        monitor: the logged figure that is to grow.

    Returns:
        Whether this process has a network to export: not in a debug run, and in the first of
        several processes only.
    """
    trainer = make_trainer(config, out, _chooses(monitor, data, config))
    with _wandb_ended(trainer):
        return _fit(trainer, module, data, config, out)


def train_and_export(
    module: pl.LightningModule,
    data: Any,
    config: Any,
    monitor: str,
    export: Callable[..., tuple[Path, Figures]],
) -> tuple[Path, Figures] | None:
    """:func:`fit`, then export; wandb, if it is the logger, gets settings, figures and network.

    Args:
        module: what is trained.
        data: what it is trained on.
        config: of the whole run, with ``trainer`` and ``out``.
        monitor: the logged figure that is to grow.
        export: takes module, data and configuration.

    Returns:
        What ``export`` returned; ``None`` where :func:`fit` says there is nothing to export.
    """
    out = Path(config.out)
    chooses = _chooses(monitor, data, config.trainer)
    trainer = make_trainer(config.trainer, out, chooses, to_dict(config))
    trainer.callbacks.append(Settings(config))  # type: ignore[attr-defined]
    with _wandb_ended(trainer):
        if not _fit(trainer, module, data, config.trainer, out):
            return None
        path, figures = export(module, data, config)
        if isinstance(trainer.logger, WandbLogger):
            log_export(trainer.logger.experiment, path, figures)
    return path, figures


def _chooses(monitor: str, data: Any, config: TrainerConfig) -> str | None:
    """``monitor``, or ``None`` where no epoch is validated."""
    if data.val_dataloader():
        return monitor
    if config.keep == "best":
        raise ConfigError(
            "trainer.keep: nothing is validated, so no epoch is the best. Say trainer.keep=last, "
            "or keep some of the data for validation."
        )
    return None


def _fit(
    trainer: pl.Trainer, module: pl.LightningModule, data: Any, config: TrainerConfig, out: Path
) -> bool:
    trainer.fit(module, data, ckpt_path=config.resume, weights_only=True)
    if config.fast_dev_run or not trainer.is_global_zero:
        return False
    load_tensors(module, out / f"{config.keep}.ckpt")
    return True


@contextmanager
def _wandb_ended(trainer: pl.Trainer) -> Iterator[None]:
    """End wandb's run behind the block: another training would go on writing into it."""
    try:
        yield
    finally:
        if isinstance(trainer.logger, WandbLogger):
            trainer.logger.experiment.finish()


def seed_step(module: pl.LightningModule, seed: int, batch: int) -> None:
    """Let what a training step draws depend on its place alone: a resumed run draws the same.

    Args:
        module: which knows epoch and process.
        seed: of the run.
        batch: the step's number in its epoch.
    """
    place = (module.current_epoch * 100_003 + batch) * 64 + module.global_rank
    torch.manual_seed(seed * 1_000_003 + place)


def load_tensors(module: pl.LightningModule, path: Path) -> None:
    """Put the tensors of a Lightning checkpoint into ``module``."""
    module.load_state_dict(torch.load(path, map_location="cpu", weights_only=True)["state_dict"])


def one_cycle(network: nn.Module, config: OptimiserConfig, steps: int) -> Any:
    """AdamW and one cycle of the learning rate over a run, as Lightning wants them.

    Args:
        network: what is trained.
        config: see :class:`OptimiserConfig`.
        steps: of the optimiser in the whole run.
    """
    optimiser = torch.optim.AdamW(
        network.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, config.learning_rate, total_steps=max(steps, 1) + 1
    )
    return {"optimizer": optimiser, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def _logger(config: TrainerConfig, out: Path, told: Mapping[str, Any] | None) -> Any:
    if config.logger == "csv":
        return CSVLogger(str(out), name="csv")
    if config.logger == "wandb":
        mode = wandb_mode(config.wandb_mode, "trainer.logger=wandb")
        out.mkdir(parents=True, exist_ok=True)
        return WandbLogger(
            name=out.name,
            save_dir=str(out),
            project=config.project,
            offline=mode == "offline",
            # Said again to wandb itself, which may have read its environment before.
            mode=mode,
            group=config.group or os.environ.get("WANDB_RUN_GROUP"),
            job_type="train",
            config=dict(told or {}),
        )
    return False
