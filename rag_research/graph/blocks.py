"""Many small graphs as one block-diagonal matrix, straight from their edge lists."""

from __future__ import annotations

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
        source, target, weight = _concatenated(graphs, undirected, dtype)
        coordinates = coo_array((weight, (target, source)), shape=(total, total))
        coordinates.has_canonical_format = True  # keeps scipy from sorting and merging
        rows = coordinates.tocsr()
        columns = torch.from_numpy(rows.indices)
        values = torch.from_numpy(rows.data)
        transposed = compressed(torch.from_numpy(rows.indptr), columns, values, total)
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
    graphs: Sequence[EdgeList], undirected: bool, dtype: torch.dtype
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sources, targets (shifted to the graph's block) and weights of all edges."""
    lists = [np.asarray(graph.edge_index) for graph in graphs]
    for number, edges in enumerate(lists):
        if edges.ndim != 2 or edges.shape[0] != 2:
            raise DataError(f"graphs[{number}].edge_index: got {edges.shape}, expected [2, E]")
    # One call for all graphs at each step: calls, not bytes, are the cost of small graphs.
    counts = [edges.shape[1] for edges in lists]
    offsets = np.cumsum([0, *(graph.num_nodes for graph in graphs)])
    listed = sum(counts)
    ends = np.empty((2, 2 * listed if undirected else listed), np.int32)
    weight = np.empty(ends.shape[1], np.float64 if dtype == torch.float64 else np.float32)
    if listed:
        np.concatenate(lists, axis=1, out=ends[:, :listed], casting="unsafe")
        weights = [_weights(graph, edges) for graph, edges in zip(graphs, lists, strict=True)]
        np.concatenate(weights, out=weight[:listed], casting="unsafe")
        _check_range(ends[:, :listed], np.array(counts), np.diff(offsets))
        ends[:, :listed] += np.repeat(offsets[:-1].astype(np.int32), counts)
    if undirected:
        ends[0, listed:], ends[1, listed:] = ends[1, :listed], ends[0, :listed]
        weight[listed:] = weight[:listed]
        loops = ends[0] == ends[1]
        if loops.any():
            weight[loops] *= 0.5  # both copies fall on one entry
    if weight.size and not (weight.min() >= 0 and np.isfinite(weight.max())):
        raise DataError("edge_weight: got a negative or non-finite value, expected finite, >= 0")
    return ends[0], ends[1], weight


def _weights(graph: EdgeList, edges: np.ndarray) -> np.ndarray:
    if graph.edge_weight is None:
        return np.ones(edges.shape[1], np.float32)
    weights = np.asarray(graph.edge_weight)
    if weights.shape != edges.shape[1:]:
        raise DataError(
            f"edge_weight: got shape {weights.shape}, expected [{edges.shape[1]}], one an edge"
        )
    return weights


def _check_range(ends: np.ndarray, counts: np.ndarray, sizes: np.ndarray) -> None:
    """Every end of an edge lies within its own graph; two passes for the whole batch."""
    filled = np.flatnonzero(counts)
    starts = (np.cumsum(counts) - counts)[filled]
    low = np.minimum.reduceat(ends, starts, axis=1).min(axis=0)
    high = np.maximum.reduceat(ends, starts, axis=1).max(axis=0)
    wrong = np.flatnonzero((low < 0) | (high >= sizes[filled]))
    if wrong.size:
        at = wrong[0]
        raise DataError(
            f"graphs[{filled[at]}].edge_index: got indices {low[at]} to {high[at]}, "
            f"expected 0 to {sizes[filled[at]] - 1}"
        )
