"""Settings that every training run has: the optimiser and Lightning's trainer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rag_research.config.build import inert


@dataclass(frozen=True, slots=True)
class OptimiserConfig:
    """AdamW with one cycle of the learning rate.

    Args:
        learning_rate: the highest of the cycle.
        weight_decay: decoupled.
    """

    learning_rate: float = 1e-3
    weight_decay: float = 0.05

    def __post_init__(self) -> None:
        if self.learning_rate <= 0 or self.weight_decay < 0:
            raise ValueError(
                "needs learning_rate above 0 and weight_decay of at least 0, got "
                f"{self.learning_rate} and {self.weight_decay}."
            )


@dataclass(frozen=True, slots=True)
class TrainerConfig:
    """How Lightning runs.

    Args:
        epochs: most passes over the data.
        patience: validations without a better figure before training stops.
        keep: epoch that is exported: the ``best`` on validation or the ``last``; with few
            validation documents or questions the best is often luck.
        precision: of Lightning (``32-true``, ``bf16-mixed``, ``16-mixed``).
        accelerator: ``auto``, ``cpu`` or ``gpu``.
        devices: processes (CPU) or GPUs, -1 for all of these; more than one trains data-parallel,
            each on batches of its own, so there are fewer and larger steps.
        strategy: of Lightning (``auto``, ``ddp``, ``ddp_spawn``).
        logger: where metrics go: ``csv``, ``wandb`` (offline without a key) or ``none``.
        wandb_mode: ``offline``, or ``online`` if wandb has a key.
        project: of wandb.
        group: of wandb; ``None`` leaves it to the environment, where a sweep names its own.
        resume: a Lightning checkpoint in ``out`` to go on from, with the settings it began with.
        fast_dev_run: one batch of everything, nothing kept.
        progress: show Lightning's progress bar.
    """

    epochs: int = 12
    patience: int = 6
    keep: Literal["best", "last"] = "best"
    precision: Literal["32-true", "bf16-mixed", "16-mixed"] = "32-true"
    accelerator: Literal["auto", "cpu", "gpu"] = inert("auto")
    devices: int = 1
    strategy: Literal["auto", "ddp", "ddp_spawn"] = inert("auto")
    logger: Literal["csv", "wandb", "none"] = inert("csv")
    wandb_mode: Literal["offline", "online"] = inert("offline")
    project: str = inert("rag_research")
    group: str | None = inert(None)
    resume: str | None = inert(None)
    fast_dev_run: bool = inert(False)
    progress: bool = inert(False)

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.patience < 0:
            raise ValueError(
                f"needs epochs >= 1 and patience >= 0, got {self.epochs} and {self.patience}."
            )
        if self.devices < 1 and self.devices != -1:
            raise ValueError(f"devices: got {self.devices}, expected at least 1, or -1 for all.")
