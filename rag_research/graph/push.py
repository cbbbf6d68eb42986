"""Forward push: the strongest nodes of one query without touching the whole graph."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rag_research.errors import ConfigError, DataError
from rag_research.graph.transition import Transition

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class TopNodes(NamedTuple):
    """The k nodes of highest energy.

    Attributes:
        nodes: ids by descending energy, then ascending id, [k] or fewer if fewer were reached.
        energy: lower bounds of their energies, [k].
        unspent: energy that was not distributed; the bounds are short by this much in total.
    """

    nodes: Integers
    energy: Floats
    unspent: float


class ForwardPush:
    r"""Local Personalized PageRank by pushing residuals along edges.

    A residual `r(u)` above `epsilon * d(u)` is settled: `restart * r(u)` stays as energy of `u`,
    the rest moves to the neighbours. With symmetric weights the energy of `v` then lies at most
    `epsilon * d(v)` above its lower bound, `d` being the degree in units of the mean edge weight;
    the work is bounded by `1 / (epsilon * restart)` edges whatever the size of the graph. All
    nodes above the threshold are pushed at once, in array operations.

    Holds buffers of the graph's size: make one per thread and reuse it.

    Source: Andersen, Chung & Lang 2006.
    """

    def __init__(self, transition: Transition) -> None:
        """Prepare the outgoing edges of a graph (once; some passes over its edges)."""
        matrix = transition.matrix.to_sparse_csc().cpu()  # columns of P^T are rows of P
        self._start: Integers = matrix.ccol_indices().numpy().astype(np.int64)
        self._neighbour: Integers = matrix.row_indices().numpy().astype(np.int64)
        self._share: Floats = matrix.values().numpy().astype(np.float64)
        degree = transition.degree.cpu().numpy()
        edges = len(self._share)
        unit = float(degree.sum()) / edges if edges and degree.sum() > 0 else 1.0
        # A node without edges returns its mass to the seeds; it counts as a node of one edge.
        self._degree: Floats = np.where(degree > 0, degree / unit, 1.0)
        self._dangling = degree == 0
        size = transition.num_nodes
        self._energy: Floats = np.zeros(size)
        self._residual: Floats = np.zeros(size)
        self._mark: Integers = np.zeros(size, np.int64)

    def top(
        self,
        nodes: Any,
        weights: Any = None,
        k: int = 10,
        restart: float = 0.5,
        epsilon: float = 1e-5,
    ) -> TopNodes:
        """The k nodes with the highest energy from the given seeds.

        Args:
            nodes: seed node ids, distinct, [S].
            weights: non-negative seed weights, [S]; scaled to sum 1. Default: equal.
            k: how many nodes.
            restart: probability of returning to the seeds, in (0, 1].
            epsilon: largest residual left, per unit of degree.

        Raises:
            ConfigError: restart, epsilon or k out of range.
            DataError: seeds out of range, repeated, negative or all zero.
        """
        if not 0 < restart <= 1 or not epsilon > 0 or k < 1:
            raise ConfigError(
                f"got restart {restart}, epsilon {epsilon}, k {k}; expected restart in (0, 1], "
                "epsilon > 0, k >= 1"
            )
        seeds, share = self._seeds(nodes, weights)
        reached = self._push(seeds, share, restart, epsilon)
        energy = self._energy[reached]
        unspent = max(0.0, 1.0 - float(energy.sum()))
        if len(reached) > k:
            # Everything that ties with the k-th stays in, so that ties fall to the lower id.
            least = np.partition(energy, -k)[-k]
            reached, energy = reached[energy >= least], energy[energy >= least]
        order = np.lexsort((reached, -energy))[:k]
        return TopNodes(reached[order], energy[order], unspent)

    def _seeds(self, nodes: Any, weights: Any) -> tuple[Integers, Floats]:
        seeds = np.asarray(nodes, np.int64).reshape(-1)
        share = np.ones(len(seeds)) if weights is None else np.asarray(weights, np.float64)
        size = len(self._degree)
        if share.shape != seeds.shape:
            raise DataError(f"weights: got shape {share.shape}, expected {seeds.shape}")
        if not len(seeds) or seeds.min() < 0 or seeds.max() >= size:
            raise DataError(f"nodes: got {seeds[:5]}, expected ids from 0 to {size - 1}")
        if len(set(seeds.tolist())) < len(seeds):
            raise DataError("nodes: a seed is repeated; add its weights up")
        if not (share.min() >= 0 and 0 < share.sum() < np.inf):
            raise DataError(
                "weights: got negative, non-finite or all zero, expected a positive sum"
            )
        return seeds, share / share.sum()

    def _push(self, seeds: Integers, share: Floats, restart: float, epsilon: float) -> Integers:
        """Fill the buffers; returns the nodes that hold energy, each once."""
        energy, residual = self._energy, self._residual
        energy.fill(0)
        residual.fill(0)
        residual[seeds] = share
        front, pushed = seeds[share > 0], []
        while len(front):
            mass = residual[front]
            residual[front] = 0
            pushed.append(front[energy[front] == 0])
            energy[front] += restart * mass
            touched = self._spread(front, (1 - restart) * mass, seeds, share)
            front = self._distinct(touched[residual[touched] > epsilon * self._degree[touched]])
        return np.concatenate(pushed) if pushed else seeds[:0]

    def _spread(self, front: Integers, mass: Floats, seeds: Integers, share: Floats) -> Integers:
        """Move mass from the front along its edges; returns the receivers, with repeats."""
        start = self._start[front]
        count = self._start[front + 1] - start
        end = np.cumsum(count)
        edges = np.repeat(start - end + count, count) + np.arange(end[-1])
        receivers: Integers = self._neighbour[edges]
        np.add.at(self._residual, receivers, np.repeat(mass, count) * self._share[edges])
        stuck = self._dangling[front]
        if stuck.any():
            self._residual[seeds] += float(mass[stuck].sum()) * share
            receivers = np.concatenate([receivers, seeds])
        return receivers

    def _distinct(self, nodes: Integers) -> Integers:
        """Each node once, without sorting: the last one to sign its mark stays."""
        number = np.arange(len(nodes))
        self._mark[nodes] = number
        last: Integers = nodes[self._mark[nodes] == number]
        return last
