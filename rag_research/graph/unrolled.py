"""Diffusion as a fixed number of differentiable steps, for training."""

from __future__ import annotations

import torch
from torch import Tensor

from rag_research.errors import DataError


def unrolled_pagerank(
    edge_index: Tensor,
    edge_weight: Tensor,
    seeds: Tensor,
    restart: float | Tensor = 0.5,
    steps: int = 16,
) -> Tensor:
    r"""Personalized PageRank of learnable weights: `steps` power steps that autograd can follow.

    Gradients flow to the weights, the seeds and the restart. With many steps the result is that of
    :func:`rag_research.graph.pagerank.personalized_pagerank`; its L1 error is at most
    `2 * (1 - restart) ** steps` of the column's sum.

    Args:
        edge_index: source and target of each directed edge, [2, E].
        edge_weight: non-negative, [E].
        seeds: non-negative, [N, B] or [N].
        restart: probability of returning to the seeds; a number, or a tensor that broadcasts with
            [B].
        steps: number of steps.

    Shapes:
        edge_index [2, E], edge_weight [E], seeds [N, B] -> [N, B]
    """
    source = edge_index[0]
    degree = edge_weight.new_zeros(seeds.shape[0]).index_add(0, source, edge_weight)
    # Division by a safe number, not masking afterwards: the gradient of x / 0 is not a number even
    # where the value is masked.
    share = edge_weight / degree.where(degree > 0, 1.0)[source]
    return diffuse(edge_index, share, seeds, restart, steps)


def diffuse(
    edge_index: Tensor,
    probability: Tensor,
    seeds: Tensor,
    restart: float | Tensor = 0.5,
    steps: int = 16,
    graph: Tensor | None = None,
) -> Tensor:
    r"""`steps` differentiable steps with given transition probabilities.

    .. math:: e \leftarrow \alpha s + (1 - \alpha) (P^\top e + m s / |s|),\quad m = |e| - |P^\top e|

    Rows of `P` may sum to less than one: the rest (a learned stop, a node without edges) returns to
    the seeds, so every step keeps the sum of `e`; with `graph`, that of each disjoint graph.

    Args:
        edge_index: source and target of each directed edge, [2, E].
        probability: of taking the edge from its source, [E].
        seeds: non-negative, [N, B] or [N]; a column of zeros gives zeros.
        restart: probability of returning to the seeds.
        steps: number of steps; 0 gives the seeds.
        graph: number of each node's graph, [N]; one graph when left out.

    Shapes:
        edge_index [2, E], probability [E], seeds [N, B] -> [N, B]

    Raises:
        DataError: if the shapes do not fit.
    """
    if edge_index.shape != (2, *probability.shape) or probability.dim() != 1:
        raise DataError(
            f"edge_index, probability: got shapes {tuple(edge_index.shape)} and "
            f"{tuple(probability.shape)}, expected [2, E] and [E]"
        )
    columns = seeds.unsqueeze(1) if seeds.dim() == 1 else seeds
    source, target = edge_index
    if graph is None:
        graph = source.new_zeros(len(columns))
    count = int(graph[-1]) + 1 if len(graph) else 1

    def total(values: Tensor) -> Tensor:
        """Sum over each node's graph, at each node (or once, where there is one graph)."""
        if count == 1:
            return values.sum(dim=0, keepdim=True)
        return values.new_zeros(count, values.shape[1]).index_add(0, graph, values)[graph]

    mass = total(columns)
    direction = columns / mass.where(mass > 0, 1.0)
    energy = columns
    for _ in range(steps):
        sent = probability.unsqueeze(1) * energy.index_select(0, source)
        flow = torch.zeros_like(energy).index_add(0, target, sent)
        lost = mass - total(flow)
        energy = restart * columns + (1 - restart) * (flow + lost * direction)
    return energy.squeeze(1) if seeds.dim() == 1 else energy
