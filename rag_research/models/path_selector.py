"""The learned path selector: which candidate passages, and which of their sentences, to read.

It replaces ThreadRAG's fixed diffusion and threshold. Untrained it is the paper's energy-driven
pathfinding: the published edge weights and anchors enter as logarithms to which zero is added.
Our own contribution; the paper names learning the selection as future work.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from rag_research.graph.unrolled import diffuse
from rag_research.models.groups import largest_of_groups, softmax_in_groups

LEAST = 1e-6  # stands for "no edge", "no anchor" under the logarithm
_STOP = 1e-4  # against edge weights of about .1 to 1: energy hardly stops, unless it learns to
_IDLE = 0.1  # stop of a node without published edges, whose energy the paper returns to the seeds
_CLAMP = 5.0


@dataclass(frozen=True, slots=True)
class PathSelectorConfig:
    """Size of :class:`PathSelector`.

    Args:
        width: of hidden vectors (48).
        layers: of message passing (2).
        steps: of diffusion; 0 leaves the energy on the seeds (2).
        dropout: inside the hidden layers (0.3).
        restart: share of energy that starts again at the seeds, before training (0.5).
    """

    width: int = 48
    layers: int = 2
    steps: int = 2
    dropout: float = 0.3
    restart: float = 0.5

    def __post_init__(self) -> None:
        if self.width < 1 or self.layers < 0 or self.steps < 0:
            raise ValueError("needs width >= 1, layers >= 0 and steps >= 0")
        if not 0 <= self.dropout < 1 or not 0 < self.restart < 1:
            raise ValueError("needs dropout in [0, 1) and restart in (0, 1)")


class Graphs(NamedTuple):
    """A batch of candidate graphs: N passages, E edges, S sentences.

    Args:
        nodes: features. [N, F]
        edge_index: source and target. [2, E]
        edges: features. [E, A]
        weight: published weight of each edge. [E]
        prior: published initial energy, sum 1 in each graph. [N]
        graph: graph of each passage, ascending. [N]
        sentences: features. [S, G]
        owner: passage of each sentence. [S]
    """

    nodes: Tensor
    edge_index: Tensor
    edges: Tensor
    weight: Tensor
    prior: Tensor
    graph: Tensor
    sentences: Tensor
    owner: Tensor


class Selected(NamedTuple):
    """Args:
    passages: keep logits. [N]
    sentences: keep logits. [S]
    energy: after diffusion, sum 1 in each graph. [N]
    transition: probability of each edge from its source. [E]
    """

    passages: Tensor
    sentences: Tensor
    energy: Tensor
    transition: Tensor


class Layer(nn.Module):
    """One round of messages: an attention mean and a maximum, so one strong path can decide.

    Args:
        width: of hidden vectors.
        dropout: inside.
    """

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.message = nn.Sequential(
            nn.Linear(3 * width, width), nn.GELU(), nn.Dropout(dropout), nn.Linear(width, width)
        )
        self.attention = nn.Linear(3 * width, 1)
        self.update = nn.Sequential(
            nn.Linear(3 * width + 1, width), nn.GELU(), nn.Dropout(dropout), nn.Linear(width, width)
        )
        self.norm = nn.LayerNorm(width)

    def forward(self, hidden: Tensor, edge_index: Tensor, edges: Tensor, energy: Tensor) -> Tensor:
        """[N, H], [2, E], [E, H], [N, 1] -> [N, H]"""
        target, count = edge_index[1], len(hidden)
        message = _applied(self.message, hidden, edge_index, edges)
        told = _at_edges(self.attention, hidden, edge_index, edges).squeeze(1)
        share = softmax_in_groups(told, target, count).unsqueeze(1)
        mean = hidden.new_zeros(hidden.shape).index_add_(0, target, message * share)
        best = largest_of_groups(message, target, count)
        update = self.update(torch.cat([hidden, mean, best, energy], dim=1))
        normed: Tensor = self.norm(hidden + update)
        return normed


class PathSelector(nn.Module):
    r"""Learned seeds, a learned transition, unrolled diffusion, message passing, keep logits.

    .. math::
        s = \mathrm{softmax}(\log p + f_s(h)), \quad
        P_{ij} \propto \exp(\log w_{ij} + f_e(h_i, e_{ij}, h_j)), \quad
        e = \mathrm{diffuse}(P, s), \quad
        z = \log e + g(h, e)

    with the published anchors `p` and weights `w`. The last layers of `f_s`, `f_e` and `g`
    start at zero. A node may also stop: what it does not pass on returns to the seeds, as does
    almost all that reaches a node without published edges until the network learns otherwise.

    Args:
        node_features: F.
        edge_features: A.
        sentence_features: G.
        config: see :class:`PathSelectorConfig`.

    Shapes:
        see :class:`Graphs` and :class:`Selected`
    """

    node_mean: Tensor
    node_scale: Tensor
    edge_mean: Tensor
    edge_scale: Tensor
    sentence_mean: Tensor
    sentence_scale: Tensor

    def __init__(
        self,
        node_features: int,
        edge_features: int,
        sentence_features: int,
        config: PathSelectorConfig | None = None,
    ) -> None:
        super().__init__()
        config = config or PathSelectorConfig()
        self.config = config
        width, dropout = config.width, config.dropout
        sizes = {"node": node_features, "edge": edge_features, "sentence": sentence_features}
        for name, size in sizes.items():
            self.register_buffer(f"{name}_mean", torch.zeros(size))
            self.register_buffer(f"{name}_scale", torch.ones(size))
        self.node = nn.Sequential(
            nn.Linear(node_features, width), nn.GELU(), nn.Dropout(dropout), nn.Linear(width, width)
        )
        self.edge = nn.Sequential(nn.Linear(edge_features, width), nn.GELU())
        self.seed = _zero(nn.Linear(width, 1))
        self.stop = _zero(nn.Linear(width, 1))
        self.transition = nn.Sequential(
            nn.Linear(3 * width, width), nn.GELU(), _zero(nn.Linear(width, 1))
        )
        self.restart = nn.Parameter(torch.logit(torch.tensor(config.restart)))
        self.layers = nn.ModuleList(Layer(width, dropout) for _ in range(config.layers))
        self.energy_scale = nn.Parameter(torch.ones(()))
        self.keep = nn.Sequential(
            nn.Linear(width + 1, width), nn.GELU(), _zero(nn.Linear(width, 1))
        )
        self.direct = _zero(nn.Linear(node_features, 1))
        self.sentence = nn.Sequential(
            nn.Linear(sentence_features + width, width),
            nn.GELU(),
            nn.Dropout(dropout),
            _zero(nn.Linear(width, 1)),
        )

    def standardise(self, name: str, mean: Tensor, scale: Tensor) -> None:
        """Set what ``node``, ``edge`` or ``sentence`` features are shifted and scaled by.

        A scale of infinity switches a feature off.
        """
        getattr(self, f"{name}_mean").copy_(mean)
        getattr(self, f"{name}_scale").copy_(scale)

    def _scaled(self, name: str, values: Tensor) -> Tensor:
        mean, scale = getattr(self, f"{name}_mean"), getattr(self, f"{name}_scale")
        return (values - mean).div_(scale).clamp_(-_CLAMP, _CLAMP)

    def forward(self, graphs: Graphs) -> Selected:
        """Scores of every passage and sentence."""
        nodes = self._scaled("node", graphs.nodes)
        edges = self.edge(self._scaled("edge", graphs.edges))
        hidden = self.node(nodes)
        count = int(graphs.graph[-1]) + 1 if len(graphs.graph) else 0
        charge = (graphs.prior + LEAST).log() + self.seed(hidden).squeeze(1)
        seeds = softmax_in_groups(charge, graphs.graph, count)
        transition = self._transition(graphs, edges, hidden)
        energy = diffuse(
            graphs.edge_index,
            transition,
            seeds,
            torch.sigmoid(self.restart),
            self.config.steps,
            graphs.graph,
        )
        level = (energy + LEAST).log().unsqueeze(1)
        for layer in self.layers:
            hidden = layer(hidden, graphs.edge_index, edges, level)
        keep = self.keep(torch.cat([hidden, level], dim=1)) + self.direct(nodes)
        passages = (self.energy_scale * level + keep).squeeze(1)
        owned = hidden.index_select(0, graphs.owner)
        told = torch.cat([self._scaled("sentence", graphs.sentences), owned], dim=1)
        sentences = passages.index_select(0, graphs.owner) + self.sentence(told).squeeze(1)
        return Selected(passages, sentences, energy, transition)

    def _transition(self, graphs: Graphs, edges: Tensor, hidden: Tensor) -> Tensor:
        source, count = graphs.edge_index[0], len(hidden)
        told = _applied(self.transition, hidden, graphs.edge_index, edges)
        moves = (graphs.weight + LEAST).log() + told.squeeze(1)
        linked = graphs.weight.new_zeros(count).index_add_(0, source, graphs.weight) > 0
        stops = self.stop(hidden).squeeze(1) + torch.where(linked, _STOP, _IDLE).log()
        own = torch.arange(count, device=source.device)
        both = softmax_in_groups(torch.cat([moves, stops]), torch.cat([source, own]), count)
        return both[: len(moves)]


def _applied(layers: nn.Sequential, hidden: Tensor, edge_index: Tensor, edges: Tensor) -> Tensor:
    """``layers(cat([hidden[source], edges, hidden[target]]))``, the first by :func:`_at_edges`."""
    first, *rest = layers
    told = _at_edges(first, hidden, edge_index, edges)
    for layer in rest:
        told = layer(told)
    return told


def _at_edges(layer: Any, hidden: Tensor, edge_index: Tensor, edges: Tensor) -> Tensor:
    """``layer(cat([hidden[source], edges, hidden[target]]))``, the ends multiplied node by node.

    There are many times more edges than nodes, so the bias is added at the nodes too.
    """
    width = hidden.shape[1]
    source, middle, target = layer.weight.split([width, edges.shape[1], width], dim=1)
    sent = functional.linear(hidden, source, layer.bias)
    received = functional.linear(hidden, target)
    told = functional.linear(edges, middle)
    told += sent.index_select(0, edge_index[0])
    told += received.index_select(0, edge_index[1])
    return told


def _zero(layer: nn.Linear) -> nn.Linear:
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer
