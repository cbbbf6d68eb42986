"""The data module of the path selector: whole candidate graphs, several in a step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytorch_lightning as pl
import torch
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset
from torch_geometric.data import Batch

from rag_research.graph.path_candidates import CandidateConfig
from rag_research.graph.path_data import PathData
from rag_research.training.selector_config import FEATURE_GROUPS, SelectorDataConfig
from rag_research.training.selector_datasets import DatasetGraphs, dataset_graphs

VALIDATION_BATCH = 32
_TENSORS = {"node": "x", "edge": "edge_attr", "sentence": "sentence_x"}


class GraphBatches(IterableDataset):  # type: ignore[type-arg]
    """Batches of graphs; a new order every epoch, the same for every run with the seed.

    In an epoch each data set gives as many graphs as its share says: some twice when it is
    small, some not at all when it is large. Each of several processes takes its own part of
    the order, all of equal size.

    Args:
        groups: graphs of each data set.
        shares: of each data set in an epoch, sum 1.
        size: graphs a batch.
        seed: of the order; ``None`` keeps the order, takes each graph once and cuts nothing.
    """

    def __init__(
        self,
        groups: Sequence[Sequence[PathData]],
        shares: Sequence[float],
        size: int,
        seed: int | None,
    ) -> None:
        super().__init__()
        self.graphs = [graph for group in groups for graph in group]
        self.sizes = [len(group) for group in groups]
        self.shares = shares
        self.size = size
        self.seed = seed
        self.epoch = 0

    def _order(self) -> Tensor:
        if self.seed is None:
            return torch.arange(len(self.graphs))
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + self.epoch)
        chosen: list[Tensor] = []
        first = 0
        for count, share in zip(self.sizes, self.shares, strict=True):
            wanted = round(share * len(self.graphs)) if count else 0
            turns = -(-wanted // count) if count else 0
            drawn = [torch.randperm(count, generator=generator) for _ in range(turns)]
            chosen += [torch.cat(drawn)[:wanted] + first] if drawn else []
            first += count
        order = torch.cat(chosen)
        order = order[torch.randperm(len(order), generator=generator)]
        if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
            return order
        world, rank = torch.distributed.get_world_size(), torch.distributed.get_rank()
        return order[rank : len(order) - len(order) % world : world]

    def __len__(self) -> int:
        return -(-len(self._order()) // self.size)

    def __iter__(self) -> Iterator[Batch]:
        for rows in self._order().split(self.size):
            yield Batch.from_data_list([self.graphs[row] for row in rows.tolist()])


class SelectorData(pl.LightningDataModule):
    """Reads questions, makes what is not cached, and serves batches of graphs.

    Args:
        config: see :class:`SelectorDataConfig`.
        candidates: how far the graphs reach.
        encoder: frozen; one that shows its tokens.
        seed: of the split and the order.
    """

    def __init__(
        self, config: SelectorDataConfig, candidates: CandidateConfig, encoder: Any, seed: int = 0
    ) -> None:
        super().__init__()
        self.config = config
        self.candidates = candidates
        self.encoder = encoder
        self.seed = seed
        self.datasets: Mapping[str, DatasetGraphs] = {}
        self._batches: GraphBatches

    def setup(self, stage: str | None = None) -> None:
        """Make all graphs; does nothing the second time."""
        if self.datasets:
            return
        config = self.config
        self.datasets = found = dataset_graphs(config, self.candidates, self.encoder, self.seed)
        shares = self.shares({name: len(part.train) for name, part in found.items()})
        groups = [part.train for part in found.values()]
        weights = [shares[name] for name in found]
        self._batches = GraphBatches(groups, weights, config.batch, self.seed)

    def shares(self, sizes: Mapping[str, int]) -> dict[str, float]:
        """Share of each data set of some size, see ``SelectorDataConfig.weights``. Sum 1."""
        power = 0.5 if self.config.weights == "root" else 1.0
        raw = {name: size**power for name, size in sizes.items()}
        total = sum(raw.values())
        return {name: value / total for name, value in raw.items()}

    @property
    def validation_shares(self) -> dict[str, float]:
        """Weight of each data set that has validation questions, in the order of the loaders."""
        sizes = {name: len(part.validation) for name, part in self.datasets.items()}
        return self.shares({name: size for name, size in sizes.items() if size})

    def scales(self) -> dict[str, tuple[Tensor, Tensor]]:
        """Mean and scale of each feature over training graphs; infinite where switched off.

        Returns:
            For ``node``, ``edge`` and ``sentence``: [F] and [F].
        """
        graphs = [graph for part in self.datasets.values() for graph in part.train]
        found = {}
        for kind, groups in FEATURE_GROUPS.items():
            mean, scale = _moments([getattr(graph, _TENSORS[kind]) for graph in graphs])
            names = [f"{kind}.{group}" for group, names in groups.items() for _ in names]
            off = torch.tensor([name in self.config.off for name in names])
            found[kind] = (mean, scale.masked_fill(off, torch.inf))
        return found

    def train_dataloader(self) -> DataLoader[Batch]:
        """Shuffled batches; a new order in every epoch of the trainer."""
        if self.trainer is not None:
            self._batches.epoch = self.trainer.current_epoch
        return DataLoader(self._batches, batch_size=None)

    def val_dataloader(self) -> list[DataLoader[Batch]]:
        """All validation graphs, a loader for each data set, on every process."""
        return [
            DataLoader(
                GraphBatches([self.datasets[name].validation], [1.0], VALIDATION_BATCH, None),
                batch_size=None,
            )
            for name in self.validation_shares
        ]


def _moments(parts: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of rows; 1 for what never varies."""
    count = max(sum(len(part) for part in parts), 1)
    mean = torch.stack([part.double().sum(0) for part in parts]).sum(0) / count
    square = torch.stack([((part.double() - mean) ** 2).sum(0) for part in parts]).sum(0)
    scale = (square / count).sqrt()
    return mean.float(), torch.where(scale < 1e-4, 1.0, scale).float()
