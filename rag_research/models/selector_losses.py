"""Losses of the path selector over batches of disjoint graphs.

`z` are keep logits; `gold` says which passages are gold. Graphs without a gold passage count in
no loss; a batch in which nothing counts gives 0.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, softplus
from torch_geometric.utils import scatter

LEAST = 1e-9


def gold_losses(logits: Tensor, gold: Tensor, graph: Tensor) -> Tensor:
    r"""Of each gold item, the cross-entropy against all items that are not gold.

    .. math:: l_i = \log(e^{z_i} + \sum_{j \notin G} e^{z_j}) - z_i

    so gold items do not compete with each other.

    Args:
        logits: `z`.
        gold: 1 for gold.
        graph: number of each item's graph.

    Shapes:
        [N], [N], [N] -> [P], in the order of the gold items
    """
    count = int(graph.max()) + 1 if len(graph) else 0
    other = logits.masked_fill(gold > 0, -torch.inf)
    highest = scatter(other.detach(), graph, dim_size=count, reduce="max")
    highest = highest.where(highest.isfinite(), 0.0)  # graphs of gold items only
    mass = scatter((other - highest[graph]).exp(), graph, dim_size=count, reduce="sum")
    # Where there is no other item the loss is 0: log(e^-inf + e^z) - z.
    against = (mass + (mass == 0)).log() + highest
    against = against.masked_fill(mass == 0, -torch.inf)
    at = torch.nonzero(gold > 0).squeeze(1)
    return softplus(against[graph[at]] - logits[at])


def listwise_loss(logits: Tensor, gold: Tensor, graph: Tensor) -> Tensor:
    """Mean of :func:`gold_losses` in each graph, then over graphs.

    Shapes:
        [N], [N], [N] -> []
    """
    return _over_graphs(gold_losses(logits, gold, graph), graph[gold > 0], "mean")


def full_chain_loss(logits: Tensor, gold: Tensor, graph: Tensor) -> Tensor:
    """Largest of :func:`gold_losses` in each graph, then the mean over graphs.

    Shapes:
        [N], [N], [N] -> []
    """
    return _over_graphs(gold_losses(logits, gold, graph), graph[gold > 0], "max")


def adversarial_bce_loss(
    logits: Tensor, gold: Tensor, graph: Tensor, positive_weight: float = 5.0
) -> Tensor:
    r"""Binary cross-entropy in which a wrong item counts by its own probability.

    .. math::
        \frac{1}{|g|} \Big( w \sum_{i \in G} -\log p_i
        + \sum_{j \notin G} \frac{p_j}{\bar p} (-\log(1 - p_j)) \Big)

    with :math:`p = \sigma(z)`, and weights without gradient whose mean in a graph is 1. The mean
    over graphs is returned.

    Args:
        logits: `z`.
        gold: 1 for gold.
        graph: number of each item's graph.
        positive_weight: `w`.

    Shapes:
        [N], [N], [N] -> []

    Source: hard negatives in the loss of GFM-RAG (2025), here by the current probability.
    """
    positive = gold > 0
    count = int(graph.max()) + 1 if len(graph) else 0
    weight = torch.sigmoid(logits.detach()).clamp(min=LEAST).masked_fill(positive, 0.0)
    total = scatter(weight, graph, dim_size=count, reduce="sum")
    others = scatter((~positive).to(logits.dtype), graph, dim_size=count, reduce="sum")
    weight = weight * (others / total.clamp(min=LEAST))[graph]
    weight = weight.masked_fill(positive, positive_weight)
    each = weight * binary_cross_entropy_with_logits(logits, gold, reduction="none")
    known = scatter(gold, graph, dim_size=count, reduce="sum")[graph] > 0
    return _over_graphs(each[known], graph[known], "mean")


def next_hop_loss(transition: Tensor, edge_index: Tensor, gold: Tensor, hop: Tensor) -> Tensor:
    r"""`-log` of the probability that a gold node passes on to the next hop; mean over such nodes.

    The next hop of a node whose place is known is every gold node one place further; of another
    one every other gold node. Nodes without such an edge do not count.

    Args:
        transition: probability of each edge from its source.
        edge_index: source and target.
        gold: 1 for gold.
        hop: place in the chain, -1 where unknown.

    Shapes:
        [E], [2, E], [N], [N] -> []
    """
    source, target = edge_index
    both = (gold[source] > 0) & (gold[target] > 0) & (source != target)
    right = (hop[source] < 0) | (hop[target] == hop[source] + 1)
    at = torch.nonzero(both & right).squeeze(1)
    mass = scatter(transition[at], source[at], dim_size=len(gold), reduce="sum")
    live = torch.unique(source[at])
    if not len(live):
        return transition.sum() * 0.0
    return -(mass[live] + LEAST).log().mean()


def _over_graphs(values: Tensor, graph: Tensor, reduce: str) -> Tensor:
    if not len(values):
        return values.sum()
    numbers, place = torch.unique(graph, return_inverse=True)
    return scatter(values, place, dim_size=len(numbers), reduce=reduce).mean()
