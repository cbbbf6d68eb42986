"""Sums of columns, of each block where the rows are blocks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import torch
from torch import Tensor


class ColumnSums:
    """Sums over all rows [B], or over those of each block [blocks, B].

    Args:
        blocks: block of each row, non-decreasing, or None. On a CPU blocks without rows have
            no entry in the sums.
    """

    def __init__(self, blocks: Tensor | None) -> None:
        self._blocks = blocks
        self._starts: np.ndarray | None = None
        if blocks is not None and blocks.device.type == "cpu":
            ids = blocks.numpy()
            self._starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
            self._lengths = np.diff(self._starts, append=len(ids))

    @classmethod
    def of_sizes(cls, sizes: Sequence[int]) -> ColumnSums:
        """Of blocks on a CPU with so many rows each."""
        found = cls(None)
        lengths = [size for size in sizes if size]
        found._lengths = np.array(lengths)
        found._starts = np.array(list(accumulate(lengths, initial=0))[:-1])
        return found

    @property
    def blocks(self) -> bool:
        """Whether the rows are blocks."""
        return self._blocks is not None or self._starts is not None

    def __call__(self, values: Tensor) -> Tensor:
        """[N] or [N, B] to the sums, [blocks] or [blocks, B]."""
        if self._starts is not None:  # a fifth of the time of adding row by row
            return torch.from_numpy(np.add.reduceat(values.numpy(), self._starts))
        if self._blocks is None:
            return values.sum(0)
        count = int(self._blocks[-1]) + 1
        found = values.new_zeros(count, *values.shape[1:])
        return found.index_add_(0, self._blocks, values)

    def distance(self, one: Tensor, other: Tensor) -> Tensor:
        """L1 distances of the columns, shaped like the sums."""
        if self._starts is not None:  # small batches: a numpy call takes half as long
            apart = one.numpy() - other.numpy()
            return torch.from_numpy(np.add.reduceat(np.abs(apart, out=apart), self._starts))
        return self(torch.sub(one, other).abs_())

    def rescale(self, values: Tensor, sums: Tensor) -> Tensor:
        """Give the columns these sums, in place; columns of zeros stay."""
        if self._starts is not None:
            rows = values.numpy()
            found = np.add.reduceat(rows, self._starts)
            found[found == 0] = 1
            rows *= np.repeat(sums.numpy() / found, self._lengths, axis=0)
            return values
        reached = self(values)
        factors = sums / reached.where(reached > 0, 1.0)
        return values.mul_(factors if self._blocks is None else factors[self._blocks])
