"""The Lightning module of the boundary network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor

from rag_research.extract.boundaries import DecodingConfig
from rag_research.models.boundary_mlp import BoundaryMLP
from rag_research.models.losses import focal_loss, weighted_bce
from rag_research.training.boundary_config import BoundaryLossConfig
from rag_research.training.boundary_rows import ValidationDocument
from rag_research.training.boundary_scores import average_precision, by_kind, choose_decoding, score
from rag_research.training.trainer_config import OptimiserConfig
from rag_research.training.trainers import one_cycle, seed_step

Batch = tuple[Tensor, Tensor, Tensor]


class BoundaryModule(pl.LightningModule):
    """Loss, optimiser and validation figures around a :class:`BoundaryMLP`.

    Nothing is saved as a hyper-parameter: checkpoints hold tensors and plain numbers only, and
    load with ``weights_only=True``.

    Args:
        network: what is trained.
        loss: see :class:`BoundaryLossConfig`.
        optimiser: see :class:`OptimiserConfig`.
        positive_weight: of the loss; see :func:`rag_research.models.losses.balancing_weight`.
        documents: behind the validation rows, in their order.
        seed: of dropout.
    """

    def __init__(
        self,
        network: BoundaryMLP,
        loss: BoundaryLossConfig,
        optimiser: OptimiserConfig,
        positive_weight: float,
        documents: Sequence[ValidationDocument] = (),
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.network = network
        self.loss = loss
        self.optimiser = optimiser
        self.positive_weight = positive_weight
        self.documents = documents
        self.seed = seed
        self.decoding = DecodingConfig()
        self._seen: list[tuple[Tensor, Tensor]] = []

    def _step(self, batch: Batch, split: str) -> tuple[Tensor, Tensor]:
        features, targets, weights = batch
        logits = self.network(features.float())
        if self.loss.name == "focal":
            each = focal_loss(
                logits, targets, self.loss.gamma, self.positive_weight, reduction="none"
            )
        else:
            each = weighted_bce(
                logits, targets, self.positive_weight, self.loss.smoothing, reduction="none"
            )
        loss = (each * weights).sum() / weights.sum()
        self.log(
            f"{split}/loss",
            loss,
            batch_size=len(targets),
            on_epoch=True,
            on_step=False,
            sync_dist=True,
        )
        return loss, logits

    def training_step(self, batch: Batch, batch_index: int) -> Tensor:
        """One batch of token pairs."""
        seed_step(self, self.seed, batch_index)
        loss, _ = self._step(batch, "train")
        self.log("train/step_loss", loss.detach(), on_step=True, on_epoch=False)
        return loss

    def on_train_epoch_start(self) -> None:
        """A new order of the rows."""
        loader = self.trainer.train_dataloader
        assert loader is not None
        loader.dataset.epoch = self.current_epoch

    def validation_step(self, batch: Batch, batch_index: int) -> None:
        """Keep the logits: cuts are made over whole documents."""
        _, logits = self._step(batch, "val")
        self._seen.append((logits.float().cpu(), batch[1].cpu()))

    def on_validation_epoch_end(self) -> None:
        """Average precision (mean over kinds), and Pk, WindowDiff, F1 at the best threshold."""
        logits = torch.cat([seen for seen, _ in self._seen]).numpy()
        targets = torch.cat([seen for _, seen in self._seen]).numpy()
        self._seen.clear()
        figures: dict[str, float] = {"average_precision": average_precision(targets, logits)}
        if self.documents and len(logits) == sum(d.candidates for d in self.documents):
            kinds = by_kind(self.documents).values()
            each = [average_precision(targets[rows], logits[rows]) for _, rows in kinds]
            figures["average_precision"] = sum(each) / len(each)
            self.decoding = choose_decoding(self.documents, logits, (0,))
            found = score(self.documents, logits, self.decoding)
            figures |= {"pk": found.pk, "window_diff": found.window_diff, "f1": found.f1}
        # Every process scores all rows; the mean over them changes nothing.
        named = {f"val/{name}": float(np.float32(v)) for name, v in figures.items()}
        self.log_dict(named, sync_dist=True)

    def configure_optimizers(self) -> Any:
        """AdamW, one cycle over all steps of the run."""
        steps = int(self.trainer.estimated_stepping_batches)
        return one_cycle(self.network, self.optimiser, steps)
