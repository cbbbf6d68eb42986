"""The selector's network against GATv2 layers of PyTorch Geometric: answering and training.

Both read the same random candidate graphs, of the size that questions have, through encoders of
the same width; the peer has two GATv2 layers with edge features where the selector has a learned
transition, diffusion and two layers of messages. One thread, CPU time, in turns; the best of the
rounds counts. How long real questions take, by stage, ``evaluate/retrieval.py`` tells.

    OMP_WAIT_POLICY=passive python benchmarks/path_selector.py
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch_geometric.nn import GATv2Conv

from rag_research.graph.path_edges import EDGE_FEATURES
from rag_research.graph.path_features import NODE_FEATURES, SENTENCE_FEATURES
from rag_research.models.path_selector import Graphs, PathSelector, PathSelectorConfig

NODES = sum(map(len, NODE_FEATURES.values()))
EDGES = sum(map(len, EDGE_FEATURES.values()))
SENTENCES = 4  # a passage
HEADS = 4


class Attention(nn.Module):
    """GATv2 with edge features, and a keep logit for each passage."""

    def __init__(self, config: PathSelectorConfig) -> None:
        super().__init__()
        width = config.width
        self.node = nn.Sequential(nn.Linear(NODES, width), nn.GELU(), nn.Linear(width, width))
        self.edge = nn.Sequential(nn.Linear(EDGES, width), nn.GELU())
        self.layers = nn.ModuleList(
            GATv2Conv(width, width // HEADS, HEADS, edge_dim=width, add_self_loops=False)
            for _ in range(config.layers)
        )
        self.keep = nn.Linear(width, 1)

    def forward(self, graphs: Graphs) -> Tensor:
        hidden, edges = self.node(graphs.nodes), self.edge(graphs.edges)
        for layer in self.layers:
            hidden = hidden + torch.relu(layer(hidden, graphs.edge_index, edges))
        logits: Tensor = self.keep(hidden).squeeze(1)
        return logits


def random_graphs(count: int, nodes: int, edges: int) -> Graphs:
    """A batch of disjoint graphs with edges in both directions, sorted by source."""
    generator = torch.Generator().manual_seed(0)
    pairs = torch.triu_indices(nodes, nodes, 1)
    ends = []
    for number in range(count):
        drawn = torch.randperm(pairs.shape[1], generator=generator)[: edges // 2]
        one = pairs[:, drawn] + number * nodes
        both = torch.cat([one, one.flip(0)], dim=1)
        ends.append(both[:, (both[0] * nodes * count + both[1]).argsort()])
    index = torch.cat(ends, dim=1)
    passages, total = count * nodes, index.shape[1]
    graph = torch.arange(count).repeat_interleave(nodes)
    owner = torch.arange(passages).repeat_interleave(SENTENCES)
    return Graphs(
        torch.randn(passages, NODES, generator=generator),
        index,
        torch.randn(total, EDGES, generator=generator),
        torch.rand(total, generator=generator),
        torch.full((passages,), 1 / nodes),
        graph,
        torch.randn(len(owner), len(SENTENCE_FEATURES), generator=generator),
        owner,
    )


def milliseconds(work: Callable[[], object], repeats: int) -> float:
    """CPU time of one call."""
    started = time.process_time()
    for _ in range(repeats):
        work()
    return 1e3 * (time.process_time() - started) / repeats


def training_step(network: nn.Module, logits: Callable[[], Tensor]) -> None:
    """Forward and backward."""
    network.zero_grad(set_to_none=True)
    logits().square().mean().backward()


def main() -> None:
    """Measure both and print the ratios."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", type=int, default=114, help="passages of a graph")
    parser.add_argument("--edges", type=int, default=3900, help="directed edges of a graph")
    parser.add_argument("--batch", type=int, default=16, help="graphs of a training step")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = PathSelectorConfig(dropout=0.0)
    selector, peer = PathSelector(NODES, EDGES, len(SENTENCE_FEATURES), config), Attention(config)
    one = random_graphs(1, arguments.nodes, arguments.edges)
    many = random_graphs(arguments.batch, arguments.nodes, arguments.edges)

    def ask(network: nn.Module) -> None:
        with torch.inference_mode():
            network(one)

    work: dict[str, dict[str, Callable[[], None]]] = {
        "a question": {"selector": lambda: ask(selector), "GATv2": lambda: ask(peer)},
        f"a training step of {arguments.batch}": {
            "selector": lambda: training_step(selector, lambda: selector(many).passages),
            "GATv2": lambda: training_step(peer, lambda: peer(many)),
        },
    }
    for name, networks in work.items():
        best = dict.fromkeys(networks, float("inf"))
        for _ in range(arguments.rounds):
            for network, call in networks.items():
                call()
                best[network] = min(best[network], milliseconds(call, 10))
        ratio = best["GATv2"] / best["selector"]
        print(
            f"{name}: selector {best['selector']:.2f} ms, GATv2 {best['GATv2']:.2f} ms, "
            f"ratio {ratio:.2f}"
        )


if __name__ == "__main__":
    main()
