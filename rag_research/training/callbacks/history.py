"""Figures of each epoch in the run's folder, whatever the logger."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytorch_lightning as pl
from pytorch_lightning.callbacks import Callback

from rag_research.runtime.figures import (
    HISTORY,
    SUMMARY,
    append_history,
    read_history,
    write_summary,
)


class History(Callback):
    """Writes a line an epoch, and at the end the figures of the epoch that is kept.

    A sweep reads the lines while the training runs. A resumed training goes on behind those of
    the epochs it continues.

    Args:
        folder: of the run.
        monitor: the figure that chooses the best epoch; ``None`` where there is none.
        keep: ``best`` or ``last``.
    """

    def __init__(self, folder: Path, monitor: str | None, keep: str) -> None:
        self.folder = folder
        self.monitor = monitor
        self.keep = keep

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Forget lines of epochs that are not continued."""
        if not trainer.is_global_zero:
            return
        before = [row for row in read_history(self.folder) if row["epoch"] < trainer.current_epoch]
        for name in (HISTORY, SUMMARY):
            (self.folder / name).unlink(missing_ok=True)
        for row in before:
            append_history(self.folder, row)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """One line."""
        if not trainer.is_global_zero:
            return
        figures = {name: float(value) for name, value in trainer.callback_metrics.items()}
        place = {"epoch": trainer.current_epoch, "step": trainer.global_step}
        append_history(self.folder, place | figures)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """The summary."""
        if trainer.is_global_zero:
            write_summary(self.folder, self.kept(read_history(self.folder)))

    def kept(self, rows: list[dict[str, float]]) -> Mapping[str, float]:
        """The line of the epoch that is kept: the first of the highest, or the last."""
        monitor = self.monitor
        if self.keep == "last" or monitor is None:
            return rows[-1] if rows else {}
        known = [row for row in rows if monitor in row]
        return max(known, key=lambda row: row[monitor], default={})
