"""A weighted graph prepared once for diffusion: row-normalised, transposed, compressed."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import torch
from torch import Tensor

from rag_research.errors import DataError
from rag_research.graph.spectrum import second_eigenvalue

_INT32_MAX = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Transition:
    r"""Row-normalised transition probabilities of a weighted graph, stored for `P^T @ x`.

    .. math:: P_{ij} = W_{ij} / \sum_k W_{ik}

    The transpose is kept as compressed rows (CSR) with 32-bit indices: coordinate format is twenty
    to thirty times slower to multiply. Build one per graph and reuse it for all its queries.

    Attributes:
        matrix: `P^T`, sparse CSR, [N, N].
        degree: row sums of the weights, float64, [N].
        symmetric: whether the weights are symmetric; allows Chebyshev acceleration.
        dangling: whether some node has no outgoing weight.
        spread: square root of (largest volume of a block / smallest non-zero degree).
    """

    matrix: Tensor
    degree: Tensor
    symmetric: bool
    dangling: bool
    spread: float

    @classmethod
    def from_edges(
        cls,
        edge_index: Any,
        edge_weight: Any = None,
        num_nodes: int | None = None,
        *,
        undirected: bool = False,
        dtype: torch.dtype = torch.float32,
    ) -> Transition:
        """From an edge list, as PyTorch Geometric writes it.

        Args:
            edge_index: source and target of each edge, [2, E]; parallel edges add up.
            edge_weight: non-negative, [E]. Default: 1 each.
            num_nodes: N. Default: highest index + 1.
            undirected: every edge is listed once and holds in both directions.
            dtype: of the stored probabilities, float32 (default) or float64.

        Raises:
            DataError: on wrong shapes, indices out of range, negative or non-finite weights.
        """
        index = torch.as_tensor(edge_index)
        if index.dim() != 2 or index.shape[0] != 2:
            raise DataError(f"edge_index: got shape {tuple(index.shape)}, expected [2, E]")
        index = index.to(torch.int64)
        if edge_weight is None:
            weight = torch.ones(index.shape[1], dtype=torch.float64, device=index.device)
        else:
            weight = torch.as_tensor(edge_weight).to(index.device, torch.float64)
        if num_nodes is None:
            num_nodes = int(index.max()) + 1 if index.numel() else 0
        check_edges(index, weight, num_nodes)
        if undirected:
            index, weight = mirror(index, weight)
        return cls._from_coordinates(index, weight, num_nodes, dtype)

    @classmethod
    def from_sparse(cls, weights: Tensor, *, dtype: torch.dtype = torch.float32) -> Transition:
        """From a weighted adjacency matrix as a torch tensor of any layout, [N, N]."""
        if weights.dim() != 2 or weights.shape[0] != weights.shape[1]:
            raise DataError(f"weights: got shape {tuple(weights.shape)}, expected [N, N]")
        coordinates = weights.detach().to_sparse(layout=torch.sparse_coo).coalesce()
        return cls.from_edges(
            coordinates.indices(), coordinates.values(), weights.shape[0], dtype=dtype
        )

    @classmethod
    def from_scipy(cls, weights: Any, *, dtype: torch.dtype = torch.float32) -> Transition:
        """From a weighted adjacency matrix as any scipy sparse matrix or array, [N, N]."""
        coordinates = weights.tocoo()
        if coordinates.shape[0] != coordinates.shape[1]:
            raise DataError(f"weights: got shape {coordinates.shape}, expected [N, N]")
        index = torch.stack(
            [
                torch.as_tensor(coordinates.row, dtype=torch.int64),
                torch.as_tensor(coordinates.col, dtype=torch.int64),
            ]
        )
        return cls.from_edges(
            index, torch.as_tensor(coordinates.data), coordinates.shape[0], dtype=dtype
        )

    @classmethod
    def from_csr(
        cls, indptr: Any, indices: Any, values: Any, *, dtype: torch.dtype = torch.float32
    ) -> Transition:
        """From the three arrays of a CSR adjacency matrix ([N + 1], [nnz], [nnz])."""
        pointers = torch.as_tensor(indptr).to(torch.int64)
        num_nodes = pointers.numel() - 1
        rows = torch.arange(num_nodes, device=pointers.device).repeat_interleave(pointers.diff())
        index = torch.stack([rows, torch.as_tensor(indices).to(torch.int64)])
        return cls.from_edges(index, values, num_nodes, dtype=dtype)

    @classmethod
    def _from_coordinates(
        cls, index: Tensor, weight: Tensor, num_nodes: int, dtype: torch.dtype
    ) -> Transition:
        transposed = torch.sparse_coo_tensor(
            index.flip(0), weight, (num_nodes, num_nodes), check_invariants=False
        ).coalesce()
        target, source = transposed.indices()
        weight = transposed.values()
        degree = weight.new_zeros(num_nodes).index_add_(0, source, weight)
        scale = degree.where(degree > 0, 1.0)
        pointers = torch.zeros(num_nodes + 1, dtype=torch.int64, device=index.device)
        torch.cumsum(torch.bincount(target, minlength=num_nodes), 0, out=pointers[1:])
        return cls(
            matrix=compressed(pointers, source, (weight / scale[source]).to(dtype), num_nodes),
            degree=degree,
            symmetric=_is_symmetric(target, source, weight, num_nodes),
            dangling=bool((degree == 0).any()),
            spread=spread(degree.sum(), degree),
        )

    @property
    def num_nodes(self) -> int:
        """N."""
        return int(self.matrix.shape[0])

    @property
    def device(self) -> torch.device:
        """Where the matrix lies."""
        return self.matrix.device

    @property
    def dtype(self) -> torch.dtype:
        """Type of the probabilities, and of every result."""
        return self.matrix.dtype

    def to(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> Transition:
        """The same graph on another device or in another precision."""
        matrix = self.matrix.to(device=device or self.device, dtype=dtype or self.dtype)
        return replace(self, matrix=matrix, degree=self.degree.to(matrix.device))

    @cached_property
    def second_eigenvalue(self) -> float:
        """Estimated second largest absolute eigenvalue of P (symmetric graphs); computed once."""
        return second_eigenvalue(self.matrix, self.degree)


def check_edges(index: Tensor, weight: Tensor, num_nodes: int) -> None:
    """Raise a DataError unless the edges are within the graph and the weights usable."""
    if weight.shape != index.shape[1:]:
        raise DataError(
            f"edge_weight: got shape {tuple(weight.shape)}, expected [{index.shape[1]}], "
            "one an edge"
        )
    if not index.numel():
        return
    low, high = int(index.min()), int(index.max())
    if low < 0 or high >= num_nodes:
        raise DataError(
            f"edge_index: got indices {low} to {high}, expected 0 to {num_nodes - 1}; "
            "pass num_nodes if the last nodes have no edges"
        )
    low_weight, high_weight = (float(bound) for bound in torch.aminmax(weight))
    if not (low_weight >= 0 and math.isfinite(high_weight)):  # a NaN fails the first comparison
        raise DataError(
            f"edge_weight: got values {low_weight} to {high_weight}, expected finite, >= 0"
        )


def mirror(index: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Both directions of edges listed once; a self-loop keeps its weight."""
    halves = weight.where(index[0] != index[1], weight / 2)
    return torch.cat([index, index.flip(0)], dim=1), torch.cat([halves, halves])


def compressed(pointers: Tensor, columns: Tensor, values: Tensor, num_nodes: int) -> Tensor:
    """A CSR tensor with the narrowest index type; columns of a row may be unsorted or repeat."""
    width = torch.int32 if max(columns.numel(), num_nodes) <= _INT32_MAX else torch.int64
    _hear_the_beta_warning()
    return torch.sparse_csr_tensor(
        pointers.to(width),
        columns.to(width),
        values,
        (num_nodes, num_nodes),
        check_invariants=False,
    )


@cache
def _hear_the_beta_warning() -> None:
    """Torch announces once in a process that CSR tensors are in beta; users need not see it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support", category=UserWarning)
        torch.zeros(1, 1).to_sparse_csr()


def spread(volume: Tensor, degree: Tensor) -> float:
    """Square root of volume / smallest non-zero degree: how much L1 can exceed the energy norm."""
    smallest = float(degree.min()) if degree.numel() else 0.0
    if smallest == 0:
        positive = degree[degree > 0]
        smallest = float(positive.min()) if positive.numel() else 0.0
    return math.sqrt(max(float(volume) / smallest, 1.0)) if smallest > 0 else 1.0


def _is_symmetric(target: Tensor, source: Tensor, weight: Tensor, num_nodes: int) -> bool:
    mirrored = source * num_nodes + target
    order = torch.argsort(mirrored)
    if not torch.equal(mirrored[order], target * num_nodes + source):
        return False
    return bool(torch.allclose(weight[order], weight, rtol=1e-9, atol=0.0))
