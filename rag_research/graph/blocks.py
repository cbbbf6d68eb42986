"""Many small graphs as one block-diagonal matrix, straight from their edge lists."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.sparse import coo_array
from torch import Tensor

from rag_research.errors import DataError
from rag_research.graph.column_sums import ColumnSums
from rag_research.graph.pagerank import stationary_energy
from rag_research.graph.transition import Transition, compressed

try:  # the kernels behind scipy's methods, without their checks, which cost more than they do here
    from scipy.sparse._sparsetools import coo_tocsr, csr_scale_columns
except ImportError:
    coo_tocsr = csr_scale_columns = None


class EdgeList(NamedTuple):
    """One small graph.

    Attributes:
        edge_index: source and target of each edge, array or tensor, [2, E].
        edge_weight: non-negative, [E]; None: 1 each.
        num_nodes: N.
    """

    edge_index: Any
    edge_weight: Any
    num_nodes: int


@dataclass(frozen=True, eq=False)
class Blocks:
    """A batch of graphs side by side.

    Attributes:
        transition: of the block-diagonal matrix, [sum of N, sum of N].
        sizes: nodes of each graph.
    """

    transition: Transition
    sizes: list[int]

    @cached_property
    def block(self) -> Tensor:
        """Graph of each node, [sum of N]."""
        block = torch.from_numpy(np.repeat(np.arange(len(self.sizes)), self.sizes))
        return block.to(self.transition.device)

    @classmethod
    def from_edge_lists(
        cls,
        graphs: Sequence[EdgeList],
        *,
        undirected: bool = False,
        dtype: torch.dtype = torch.float32,
    ) -> Blocks:
        """Build on the CPU; `Blocks(blocks.transition.to(device), blocks.sizes)` moves a batch.

        Counting sort without merging parallel edges: the products add them up anyway, and building
        is most of the time of a batch.

        Args:
            graphs: the graphs; none may be given.
            undirected: every edge is listed once and holds in both directions.
            dtype: of the probabilities.

        Raises:
            DataError: as for :meth:`Transition.from_edges`.
        """
        lists, weights, sizes = (list(map(itemgetter(part), graphs)) for part in range(3))
        total = sum(sizes)
        source, target, weight = _concatenated(lists, weights, sizes, undirected, dtype)
        pointers, indices, data = _sorted_by_row(target, source, weight, total)
        # Sums of rows; those of an undirected graph's transpose are those of the graph.
        degree = _row_sums(pointers, data) if undirected else _sums_at(source, weight, total)
        smallest = float(degree.min()) if total else 1.0
        scale = degree if smallest > 0 else np.where(degree > 0, degree, 1)
        least = smallest or float(scale.min())
        _scale_columns(pointers, indices, data, 1 / scale)
        starts, columns, values = map(torch.from_numpy, (pointers, indices, data))
        transition = Transition(
            matrix=compressed(starts, columns, values, total),
            degree=torch.from_numpy(degree.astype(np.float64)),
            symmetric=undirected,
            dangling=smallest == 0,
            # The volume of the whole batch bounds that of each block, at a step or two more.
            spread=math.sqrt(max(float(degree.sum()) / least, 1.0)),
        )
        return cls(transition, sizes)

    def pagerank(
        self, seeds: Sequence[Any], restart: float = 0.5, tol: float = 1e-6
    ) -> list[Tensor]:
        """:func:`personalized_pagerank` of every graph with its own seeds.

        Args:
            seeds: for each graph, an array or tensor [N] or [N, B], B the same for all.
            restart: probability of returning to the seeds.
            tol: bound on the L1 error of every column of every graph.

        Returns:
            The energies of each graph, shaped like its seeds.
        """
        if len(seeds) != len(self.sizes):
            raise DataError(f"seeds: got {len(seeds)}, expected {len(self.sizes)}, one a graph")
        lengths = list(map(len, seeds))
        if lengths != self.sizes:
            at = next(i for i, size in enumerate(self.sizes) if lengths[i] != size)
            raise DataError(f"seeds[{at}]: got {lengths[at]} rows, expected {self.sizes[at]}")
        if not self.sizes:
            return []
        if set(map(type, seeds)) == {np.ndarray}:
            stacked = torch.from_numpy(np.concatenate(seeds))
        else:
            stacked = torch.cat([torch.as_tensor(seed) for seed in seeds])
        on_cpu = self.transition.device.type == "cpu"
        total = ColumnSums.of_sizes(self.sizes) if on_cpu else ColumnSums(self.block)
        energy = stationary_energy(self.transition, stacked, restart, tol, "auto", None, total)
        # Nothing is differentiated here; the check that views guard against it costs a third more.
        return list(torch.unsafe_split_with_sizes(energy, self.sizes))


def _concatenated(
    edge_lists: Sequence[Any],
    edge_weights: Sequence[Any],
    sizes: Sequence[int],
    undirected: bool,
    dtype: torch.dtype,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sources, targets (shifted to the graph's block) and weights of all edges."""
    lists = list(map(np.asarray, edge_lists))
    for number, edges in enumerate(lists):
        if edges.ndim != 2 or len(edges) != 2:
            raise DataError(f"graphs[{number}].edge_index: got {edges.shape}, expected [2, E]")
    # One call for all graphs at each step: calls, not bytes, are the cost of small graphs.
    counts = [edges.size // 2 for edges in lists]
    listed = sum(counts)
    # Sources, targets, and sources again: (sources, targets) and (targets, sources) without a copy.
    ends = np.empty((3 if undirected else 2, listed), np.int32)
    weight = np.empty((len(ends) - 1, listed), np.float64 if dtype == torch.float64 else np.float32)
    if listed:
        wide = np.concatenate(lists, axis=1, dtype=np.int64, casting="unsafe")
        _check_range(wide, counts, sizes)
        starts = list(accumulate(sizes, initial=0))[:-1]
        wide += np.repeat(starts, counts)
        ends[:2] = wide
        own = weight[0]
        np.concatenate(_weights(edge_weights, counts), out=own, casting="unsafe")
        if not (own.min() >= 0 and math.isfinite(own.max())):  # a NaN fails the first comparison
            raise DataError(
                "edge_weight: got a negative or non-finite value, expected finite, >= 0"
            )
        if undirected:
            loops = ends[0] == ends[1]
            if loops.any():
                own[loops] *= 0.5  # both copies fall on one entry
            ends[2], weight[1] = ends[0], own
    flat, weights = ends.reshape(-1), weight.reshape(-1)
    return flat[: len(weights)], flat[listed : listed + len(weights)], weights


def _weights(edge_weights: Sequence[Any], counts: Sequence[int]) -> list[np.ndarray]:
    weights = [
        np.ones(count, np.float32) if weight is None else np.asarray(weight)
        for weight, count in zip(edge_weights, counts, strict=True)
    ]
    for number, (weight, count) in enumerate(zip(weights, counts, strict=True)):
        if weight.ndim != 1 or len(weight) != count:
            raise DataError(
                f"graphs[{number}].edge_weight: got shape {weight.shape}, expected [{count}], "
                "one an edge"
            )
    return weights


def _sorted_by_row(
    rows: np.ndarray, columns: np.ndarray, values: np.ndarray, size: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pointers, columns and values of compressed rows by counting sort, nothing merged."""
    if coo_tocsr is None:
        coordinates = coo_array((values, (rows, columns)), shape=(size, size))
        coordinates.has_canonical_format = True  # keeps scipy from sorting and merging
        found = coordinates.tocsr()
        return found.indptr, found.indices, found.data
    pointers = np.empty(size + 1, rows.dtype)
    sorted_columns, sorted_values = np.empty_like(columns), np.empty_like(values)
    arrays = (rows, columns, values, pointers, sorted_columns, sorted_values)
    coo_tocsr(size, size, len(rows), *arrays)
    return pointers, sorted_columns, sorted_values


def _row_sums(pointers: np.ndarray, values: np.ndarray) -> np.ndarray:
    sums = np.zeros(len(pointers) - 1, values.dtype)
    filled = pointers[1:] > pointers[:-1]
    if filled.all():
        np.add.reduceat(values, pointers[:-1], out=sums)
    elif len(values):
        sums[filled] = np.add.reduceat(values, pointers[:-1][filled])
    return sums


def _sums_at(places: np.ndarray, values: np.ndarray, size: int) -> np.ndarray:
    return np.bincount(places, values, size).astype(values.dtype)


def _scale_columns(
    pointers: np.ndarray, columns: np.ndarray, values: np.ndarray, scale: np.ndarray
) -> None:
    """Multiply each value by the scale of its column, in place."""
    if csr_scale_columns is None:
        values *= scale[columns]
    else:
        csr_scale_columns(len(scale), len(scale), pointers, columns, values, scale)


def _check_range(ends: np.ndarray, counts: Sequence[int], sizes: Sequence[int]) -> None:
    """Every end of an edge lies within its own graph; one pass for the whole batch."""
    unsigned = ends.view(np.uint64)  # read without sign, a negative index is larger than any size
    if unsigned.max() < min(sizes):
        return
    filled = np.flatnonzero(counts)
    starts = (np.cumsum(counts) - np.array(counts))[filled]
    highest = np.maximum.reduceat(unsigned, starts, axis=1).max(axis=0)
    wrong = np.flatnonzero(highest >= np.array(sizes, np.uint64)[filled])
    if wrong.size:
        at = wrong[0]
        own = ends[:, starts[at] : starts[at] + counts[filled[at]]]
        raise DataError(
            f"graphs[{filled[at]}].edge_index: got indices {own.min()} to {own.max()}, "
            f"expected 0 to {sizes[filled[at]] - 1}"
        )
