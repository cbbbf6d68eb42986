"""Lightning trainers from plain settings: loggers, checkpointing, early stop."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint
from pytorch_lightning.loggers import CSVLogger, WandbLogger

from rag_research.errors import missing_extra
from rag_research.training.boundary_config import TrainerConfig

BEST = "best"


def make_trainer(config: TrainerConfig, out: Path, monitor: str) -> pl.Trainer:
    """A trainer that keeps the best and the last checkpoint in ``out``.

    Args:
        config: see :class:`TrainerConfig`.
        out: folder of logs and checkpoints.
        monitor: the logged figure that is to grow.
    """
    # Batches come whole out of memory: workers would only copy them.
    warnings.filterwarnings("ignore", message=".*does not have many workers.*")
    warnings.filterwarnings("ignore", message="Checkpoint directory .* exists and is not empty")
    warnings.filterwarnings("ignore", message=".*IterableDataset.*has `__len__` defined.*")
    logging.getLogger("pytorch_lightning.utilities.rank_zero").setLevel(logging.WARNING)
    checkpoint = ModelCheckpoint(
        dirpath=out,
        filename=BEST,
        monitor=monitor,
        mode="max",
        enable_version_counter=False,
    )
    # `save_last` would write only where the figure grew, and a resumed run would lose epochs.
    last = ModelCheckpoint(dirpath=out, filename="last", enable_version_counter=False)
    stop = EarlyStopping(monitor=monitor, mode="max", patience=config.patience)
    return pl.Trainer(
        max_epochs=config.epochs,
        accelerator=config.accelerator,
        devices=config.devices,
        strategy=config.strategy,
        precision=config.precision,
        logger=_logger(config, out),
        callbacks=[checkpoint, last, stop],
        fast_dev_run=config.fast_dev_run,
        enable_progress_bar=config.progress,
        enable_model_summary=False,
        log_every_n_steps=1,
        gradient_clip_val=1.0,
        num_sanity_val_steps=0,
    )


def _logger(config: TrainerConfig, out: Path) -> Any:
    if config.logger == "csv":
        return CSVLogger(str(out), name="csv")
    if config.logger == "wandb":
        try:
            wandb = WandbLogger(
                name=out.name,
                save_dir=str(out),
                project="rag_research",
                offline=config.wandb_mode == "offline",
                # Said again to wandb itself, which may have read its environment before.
                mode=config.wandb_mode,
            )
        except ModuleNotFoundError as error:
            raise missing_extra("wandb", "wandb", "trainer.logger=wandb") from error
        out.mkdir(parents=True, exist_ok=True)
        return wandb
    return False
