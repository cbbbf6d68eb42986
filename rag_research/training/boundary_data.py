"""The data module of the boundary network: whole batches of token pairs, never single rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset

from rag_research.embed.sentence_encoder import SentenceEncoder
from rag_research.extract.unit_states import UnitEncoder
from rag_research.extract.word_table import WordTable
from rag_research.training.boundary_config import BoundaryDataConfig
from rag_research.training.boundary_rows import (
    RowMaker,
    Rows,
    ValidationDocument,
    joined_passages,
    split_files,
    training_rows,
    validation_document,
)
from rag_research.training.distil_words import distil_words

Batch = tuple[Tensor, Tensor, Tensor]
_UNITS_A_TEXT = 8  # the word weights count texts of this many units


class RowBatches(IterableDataset):  # type: ignore[type-arg]
    """Batches of rows as one indexed read each; a new order every epoch.

    A loader that collates single rows is about three times slower than the network itself.
    Each of several processes takes its own share of every epoch's order, all of equal size.

    Args:
        rows: on the CPU.
        size: rows a batch.
        seed: of the order; ``None`` keeps the rows' own order and drops nothing.
    """

    def __init__(self, rows: Rows, size: int, seed: int | None) -> None:
        super().__init__()
        self.features = torch.from_numpy(rows.features)
        self.targets = torch.from_numpy(rows.targets)
        self.weights = torch.from_numpy(rows.weights)
        self.size = size
        self.seed = seed
        self.epoch = 0

    def _order(self) -> Tensor:
        count = len(self.targets)
        if self.seed is None:
            return torch.arange(count)
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + self.epoch)
        order = torch.randperm(count, generator=generator)
        distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
        if not distributed:
            return order
        world, rank = torch.distributed.get_world_size(), torch.distributed.get_rank()
        return order[rank : count - count % world : world]

    def __len__(self) -> int:
        return -(-len(self._order()) // self.size)

    def __iter__(self) -> Iterator[Batch]:
        for rows in self._order().split(self.size):
            yield self.features[rows], self.targets[rows], self.weights[rows]


class BoundaryData(pl.LightningDataModule):
    """Reads documents, encodes what is not cached, and serves batches.

    Args:
        config: see :class:`BoundaryDataConfig`.
        encoder: frozen; makes states (contextual) and, without ``table``, the word table.
        contextual: whether rows have the encoder's states.
        table: a word table to use again.
        table_words: words of a new table.
        seed: of splits, joins and orders.
    """

    def __init__(
        self,
        config: BoundaryDataConfig,
        encoder: SentenceEncoder | None,
        *,
        contextual: bool,
        table: WordTable | None = None,
        table_words: int = 20_000,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.config = config
        self.encoder = encoder
        self.contextual = contextual
        self.table = table
        self.table_words = table_words
        self.seed = seed
        self.train_rows: Rows | None = None
        self.validation_rows: Rows
        self.validation_documents: list[ValidationDocument]
        self._batches: RowBatches

    def setup(self, stage: str | None = None) -> None:
        """Make all rows; does nothing the second time."""
        if self.train_rows is not None:
            return
        config, seed = self.config, self.seed
        documents, validation = split_files(config, seed)
        states = None
        if self.contextual:
            assert self.encoder is not None
            states = UnitEncoder(self.encoder, Path(config.cache))
        joined = []
        if config.passages:
            path, random = Path(config.passages), Random(seed)
            joined = list(joined_passages(path, config.joined, random, config.passages_of))
        if self.table is None:
            self.table = self._new_table([d.text for d in [*(d for _, d in documents), *joined]])
        maker = RowMaker(self.table, states, config.states)
        kinds = dict.fromkeys(kind for kind, _ in documents)
        real = {
            kind: maker.with_states([d for known, d in documents if known == kind])
            for kind in kinds
        }
        self.train_rows = training_rows(real, maker.with_states(joined), maker, config, seed)
        held = maker.with_states([document for _, document in validation])
        self.validation_rows = Rows.concatenated([maker.rows(document) for document in held])
        self.validation_documents = [
            validation_document(kind, source, document)
            for (kind, source), document in zip(validation, held, strict=True)
        ]
        self._batches = RowBatches(self.train_rows, config.batch_rows, seed)

    def _new_table(self, texts: list[str]) -> WordTable:
        from rag_research.text.units import unit_offsets

        assert self.encoder is not None

        def pieces() -> Iterator[str]:
            for text in texts:
                units = unit_offsets(text)
                for first in range(0, len(units), _UNITS_A_TEXT):
                    own = units[first : first + _UNITS_A_TEXT]
                    yield text[own[0][0] : own[-1][1]]

        return distil_words(pieces(), self.encoder, self.table_words)

    def scales(self) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation of each training feature. [F], [F]"""
        assert self.train_rows is not None
        rows = self.train_rows.features
        mean = rows.mean(axis=0, dtype=np.float64)
        square = np.zeros_like(mean)
        for start in range(0, len(rows), 8192):
            square += ((rows[start : start + 8192] - mean) ** 2).sum(axis=0)
        scale = np.sqrt(square / len(rows))
        scale[scale < 1e-3] = 1.0  # a feature that never varies
        return torch.from_numpy(mean).float(), torch.from_numpy(scale).float()

    def train_dataloader(self) -> DataLoader[Batch]:
        """Shuffled batches; a new order in every epoch of the trainer."""
        if self.trainer is not None:
            self._batches.epoch = self.trainer.current_epoch
        return DataLoader(self._batches, batch_size=None)

    def val_dataloader(self) -> DataLoader[Batch]:
        """All validation rows in document order, on every process."""
        return DataLoader(RowBatches(self.validation_rows, 8192, None), batch_size=None)
