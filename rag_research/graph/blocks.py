"""Many small graphs as one block-diagonal matrix, straight from their edge lists."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.sparse import coo_array
from torch import Tensor

from rag_research.errors import DataError
from rag_research.graph.pagerank import personalized_pagerank
from rag_research.graph.transition import Transition, compressed, spread

try:  # the kernel behind `coo_array.tocsr`, without its checks, which cost more than it does here
    from scipy.sparse._sparsetools import coo_tocsr
except ImportError:
    coo_tocsr = None


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
        block: graph of each node, [sum of N].
    """

    transition: Transition
    sizes: list[int]
    block: Tensor

    @classmethod
    def from_edge_lists(
        cls,
        graphs: Sequence[EdgeList],
        *,
        undirected: bool = False,
        dtype: torch.dtype = torch.float32,
    ) -> Blocks:
        """Build on the CPU; move `transition` and `block` afterwards if need be.

        Counting sort without merging parallel edges: the products add them up anyway, and building
        is most of the time of a batch.

        Args:
            graphs: the graphs; none may be given.
            undirected: every edge is listed once and holds in both directions.
            dtype: of the probabilities.

        Raises:
            DataError: as for :meth:`Transition.from_edges`.
        """
        sizes = [graph.num_nodes for graph in graphs]
        total = sum(sizes)
        source, target, weight = _concatenated(graphs, sizes, undirected, dtype)
        pointers, indices, data = _sorted_by_row(target, source, weight, total)
        columns, values = torch.from_numpy(indices), torch.from_numpy(data)
        transposed = compressed(torch.from_numpy(pointers), columns, values, total)
        if undirected:  # sums of rows are sums of columns
            degree = torch.mv(transposed, torch.ones(total, dtype=dtype))
        else:
            degree = torch.zeros(total, dtype=dtype)
            degree.scatter_add_(0, torch.from_numpy(source).long(), torch.from_numpy(weight))
        smallest = float(degree.min()) if total else 1.0
        scale = degree if smallest > 0 else degree.where(degree > 0, 1.0)
        values /= scale.index_select(0, columns)
        transition = Transition(
            matrix=transposed,
            degree=degree.double(),
            symmetric=undirected,
            dangling=smallest == 0,
            # The volume of the whole batch bounds that of each block, at a step or two more.
            spread=spread(degree.sum(), scale),
        )
        block = torch.from_numpy(np.repeat(np.arange(len(sizes)), sizes))
        return cls(transition, sizes, block)

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
        lengths = [len(seed) for seed in seeds]
        if lengths != self.sizes:
            at = next(i for i, size in enumerate(self.sizes) if lengths[i] != size)
            raise DataError(f"seeds[{at}]: got {lengths[at]} rows, expected {self.sizes[at]}")
        if not self.sizes:
            return []
        if all(isinstance(seed, np.ndarray) for seed in seeds):
            stacked = torch.from_numpy(np.concatenate(seeds))
        else:
            stacked = torch.cat([torch.as_tensor(seed) for seed in seeds])
        energy = personalized_pagerank(self.transition, stacked, restart, tol, blocks=self.block)
        return list(torch.split(energy, self.sizes))


def _concatenated(
    graphs: Sequence[EdgeList], sizes: Sequence[int], undirected: bool, dtype: torch.dtype
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sources, targets (shifted to the graph's block) and weights of all edges."""
    lists = [np.asarray(graph.edge_index) for graph in graphs]
    for number, edges in enumerate(lists):
        if edges.ndim != 2 or len(edges) != 2:
            raise DataError(f"graphs[{number}].edge_index: got {edges.shape}, expected [2, E]")
    # One call for all graphs at each step: calls, not bytes, are the cost of small graphs.
    counts = [edges.shape[1] for edges in lists]
    listed = sum(counts)
    ends = np.empty((2, 2 * listed if undirected else listed), np.int32)
    weight = np.empty(ends.shape[1], np.float64 if dtype == torch.float64 else np.float32)
    if not listed:
        return ends[0], ends[1], weight
    once, own = ends[:, :listed], weight[:listed]
    wide = np.concatenate(lists, axis=1, dtype=np.int64, casting="unsafe")
    _check_range(wide, np.array(counts), np.array(sizes))
    starts = np.cumsum(sizes) - sizes
    np.add(wide, np.repeat(starts, counts), out=once, casting="unsafe")
    np.concatenate(_weights(graphs, counts), out=own, casting="unsafe")
    if not (own.min() >= 0 and math.isfinite(own.max())):  # a NaN fails the first comparison
        raise DataError("edge_weight: got a negative or non-finite value, expected finite, >= 0")
    if undirected:
        loops = once[0] == once[1]
        if loops.any():
            own[loops] *= 0.5  # both copies fall on one entry
        ends[:, listed:] = once[::-1]
        weight[listed:] = own
    return ends[0], ends[1], weight


def _weights(graphs: Sequence[EdgeList], counts: Sequence[int]) -> list[np.ndarray]:
    weights = [
        np.ones(count, np.float32) if graph.edge_weight is None else np.asarray(graph.edge_weight)
        for graph, count in zip(graphs, counts, strict=True)
    ]
    for number, (weight, count) in enumerate(zip(weights, counts, strict=True)):
        if weight.shape != (count,):
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


def _check_range(ends: np.ndarray, counts: np.ndarray, sizes: np.ndarray) -> None:
    """Every end of an edge lies within its own graph; one pass for the whole batch."""
    filled = np.flatnonzero(counts)
    starts = (np.cumsum(counts) - counts)[filled]
    # Read without sign, a negative index is larger than any size.
    highest = np.maximum.reduceat(ends.view(np.uint64), starts, axis=1).max(axis=0)
    wrong = np.flatnonzero(highest >= sizes[filled].astype(np.uint64))
    if wrong.size:
        at = wrong[0]
        own = ends[:, starts[at] : starts[at] + counts[filled[at]]]
        raise DataError(
            f"graphs[{filled[at]}].edge_index: got indices {own.min()} to {own.max()}, "
            f"expected 0 to {sizes[filled[at]] - 1}"
        )
