"""The Lightning module of the path selector."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import pytorch_lightning as pl
import torch
from torch import Tensor
from torch_geometric.data import Batch
from torch_geometric.utils import scatter

from rag_research.graph.path_data import network_input
from rag_research.models.path_selector import Graphs, PathSelector, Selected
from rag_research.models.selector_losses import (
    adversarial_bce_loss,
    full_chain_loss,
    listwise_loss,
    next_hop_loss,
)
from rag_research.training.selector_config import SelectorLossConfig
from rag_research.training.trainer_config import OptimiserConfig
from rag_research.training.trainers import one_cycle, seed_step

MONITOR = "val/score"
CUTS = (2, 5)


class SelectorModule(pl.LightningModule):
    """Losses, optimiser and validation figures around a :class:`PathSelector`.

    Nothing is saved as a hyper-parameter: checkpoints hold tensors and plain numbers only.

    Args:
        network: what is trained.
        loss: weights of the losses.
        optimiser: see :class:`OptimiserConfig`.
        shares: weight of each data set in ``val/score``, in the order of validation loaders.
        edge_dropout, seed_dropout: see :class:`SelectorDataConfig`.
        seed: of dropout. Every step seeds anew, so a resumed run is the run it continues.
    """

    def __init__(
        self,
        network: PathSelector,
        loss: SelectorLossConfig,
        optimiser: OptimiserConfig,
        shares: Mapping[str, float],
        edge_dropout: float = 0.0,
        seed_dropout: float = 0.0,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.network = network
        self.loss = loss
        self.optimiser = optimiser
        self.shares = shares
        self.edge_dropout = edge_dropout
        self.seed_dropout = seed_dropout
        self.seed = seed
        self._seen: dict[str, list[Mapping[str, float]]] = defaultdict(list)

    def losses(self, batch: Batch, graphs: Graphs, selected: Selected) -> dict[str, Tensor]:
        """Every loss with a weight, unweighted."""
        gold, graph, config = batch.y, graphs.graph, self.loss
        found: dict[str, Tensor] = {}
        if config.listwise:
            found["listwise"] = listwise_loss(selected.passages, gold, graph)
        if config.adversarial_bce:
            found["adversarial_bce"] = adversarial_bce_loss(
                selected.passages, gold, graph, config.positive_weight
            )
        if config.full_chain:
            found["full_chain"] = full_chain_loss(selected.passages, gold, graph)
        if config.next_hop:
            found["next_hop"] = next_hop_loss(
                selected.transition, graphs.edge_index, gold, batch.hop
            )
        if config.sentences:
            known = _sentences_known(batch, graphs)
            found["sentences"] = listwise_loss(
                selected.sentences[known], batch.sentence_y[known], graph[graphs.owner[known]]
            )
        return found

    def training_step(self, batch: Batch, batch_index: int) -> Tensor:
        """One batch of graphs."""
        seed_step(self, self.seed, batch_index)
        graphs = dropped(network_input(batch), self.edge_dropout, self.seed_dropout)
        selected = self.network(graphs)
        found = self.losses(batch, graphs, selected)
        total = torch.stack([getattr(self.loss, n) * value for n, value in found.items()]).sum()
        logged = {f"train/{name}": value.detach() for name, value in found.items()}
        logged["train/loss"] = total.detach()
        self.log_dict(
            logged, batch_size=batch.num_graphs, on_epoch=True, on_step=False, sync_dist=True
        )
        self.log("train/step_loss", logged["train/loss"], on_step=True, on_epoch=False)
        # Data-parallel training wants a gradient for every weight, whichever losses are on.
        idle: Tensor = sum(parameter.sum() for parameter in self.network.parameters()) * 0.0
        return total + idle

    def on_train_epoch_start(self) -> None:
        """A new order of the graphs."""
        loader = self.trainer.train_dataloader
        assert loader is not None
        loader.dataset.epoch = self.current_epoch

    def validation_step(self, batch: Batch, batch_index: int, dataloader_idx: int = 0) -> None:
        """Recall of each question."""
        graphs = network_input(batch)
        logits = self.network(graphs).passages
        dataset = list(self.shares)[dataloader_idx]
        self._seen[dataset] += question_figures(logits, batch)

    def on_validation_epoch_end(self) -> None:
        """Means over the questions of each data set; the score over data sets."""
        figures = self.figures()
        logged = {
            f"val/{dataset}/{name}": value
            for dataset, own in figures.items()
            for name, value in own.items()
        }
        for name in ("recall_at_5", "full_chain_at_5"):
            logged[f"val/{name}"] = self._mean(figures, name)
        logged[MONITOR] = (logged["val/recall_at_5"] + logged["val/full_chain_at_5"]) / 2
        # Every process scores all questions; the mean over them changes nothing.
        self.log_dict({n: torch.tensor(v) for n, v in logged.items()}, sync_dist=True)
        self._seen.clear()

    def figures(self) -> dict[str, dict[str, float]]:
        """Mean of each figure over the questions seen since the last validation, by data set."""
        return {
            dataset: {name: sum(q[name] for q in seen) / len(seen) for name in seen[0]}
            for dataset, seen in self._seen.items()
            if seen
        }

    def _mean(self, figures: Mapping[str, Mapping[str, float]], name: str) -> float:
        total = sum(self.shares[dataset] for dataset in figures)
        return sum(self.shares[d] * own[name] for d, own in figures.items()) / max(total, 1e-9)

    def configure_optimizers(self) -> Any:
        """AdamW, one cycle over all steps of the run."""
        return one_cycle(self.network, self.optimiser, int(self.trainer.estimated_stepping_batches))


def question_figures(logits: Tensor, batch: Batch) -> list[dict[str, float]]:
    """Recall and full-chain recall of each question of a batch.

    Gold passages that are no candidates count as missed.

    Args:
        logits: of the batch's passages. [N]
        batch: with ``y`` and ``missed``.
    """
    figures = []
    for number, missed in enumerate(batch.missed.tolist()):
        own = batch.batch == number
        gold = batch.y[own][torch.sort(logits[own], descending=True, stable=True).indices]
        total = float(gold.sum()) + missed
        found = {f"recall_at_{k}": float(gold[:k].sum()) / max(total, 1.0) for k in CUTS}
        found["full_chain_at_5"] = float(float(gold[:5].sum()) == total)
        found["candidates"] = float(gold.sum()) / max(total, 1.0)
        figures.append(found)
    return figures


def dropped(graphs: Graphs, edges: float, seeds: float) -> Graphs:
    """The graphs without a random share of edges, and with some uniform priors.

    Args:
        graphs: a batch.
        edges: probability that an edge is left out, together with its reverse.
        seeds: probability that a graph's prior becomes uniform.
    """
    if seeds:
        sizes = scatter(torch.ones_like(graphs.prior), graphs.graph, reduce="sum")
        uniform = (torch.rand(len(sizes), device=sizes.device) < seeds)[graphs.graph]
        graphs = graphs._replace(prior=torch.where(uniform, 1 / sizes[graphs.graph], graphs.prior))
    if edges:
        low, high = graphs.edge_index.min(0).values, graphs.edge_index.max(0).values
        pairs, place = torch.unique(low * len(graphs.nodes) + high, return_inverse=True)
        kept = (torch.rand(len(pairs), device=pairs.device) >= edges)[place]
        graphs = graphs._replace(
            edge_index=graphs.edge_index[:, kept],
            edges=graphs.edges[kept],
            weight=graphs.weight[kept],
        )
    return graphs


def _sentences_known(batch: Batch, graphs: Graphs) -> Tensor:
    """Sentences that are known to support or not: those of a gold passage without a mark are not.

    Where the evidence of a gold passage was not found, its sentences are no wrong answers.
    """
    marked = scatter(batch.sentence_y, graphs.owner, dim_size=len(batch.y), reduce="sum") > 0
    return ((batch.y == 0) | marked)[graphs.owner]
