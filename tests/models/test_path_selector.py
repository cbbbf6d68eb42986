"""The network: at its start the paper's diffusion, and what a graph network must not depend on."""

import pytest
import torch
from torch import Tensor

from rag_research.graph.pagerank import personalized_pagerank
from rag_research.graph.transition import Transition
from rag_research.models.path_selector import Graphs, PathSelector, PathSelectorConfig, Selected

F, A, G = 6, 5, 4


def _graphs(count: int, seed: int, idle: int = 0) -> Graphs:
    """A random candidate graph; its first ``idle`` nodes have no published edge."""
    random = torch.Generator().manual_seed(seed)
    published = torch.rand(count, count, generator=random) < 3 / count
    published |= published.T.clone()
    weight = 0.12 + 0.5 * torch.rand(count, count, generator=random)
    weight = (weight + weight.T) / 2 * published
    weight[:idle] = weight[:, :idle] = 0
    joined = published.clone()
    joined[:8] = joined[:, :8] = True
    joined.fill_diagonal_(False)
    source, target = joined.nonzero().T
    prior = torch.zeros(count)
    prior[torch.randint(count, (1,), generator=random)] = 0.5
    prior[0] += 1 - prior.sum()
    owner = torch.arange(count).repeat_interleave(2)
    return Graphs(
        torch.randn(count, F, generator=random),
        torch.stack([source, target]),
        torch.randn(len(source), A, generator=random),
        weight[source, target],
        prior,
        torch.zeros(count, dtype=torch.int64),
        torch.randn(len(owner), G, generator=random),
        owner,
    )


def _network(config: PathSelectorConfig | None = None, noise: float = 0.3) -> PathSelector:
    torch.manual_seed(0)
    network = PathSelector(F, A, G, config).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += noise * torch.randn(parameter.shape)
    return network


def _joined(parts: list[Graphs]) -> Graphs:
    first = torch.tensor([0, *(len(p.nodes) for p in parts)]).cumsum(0)[:-1].tolist()

    def whole(name: str) -> Tensor:
        return torch.cat([getattr(part, name) for part in parts])

    return Graphs(
        whole("nodes"),
        torch.cat([p.edge_index + n for p, n in zip(parts, first, strict=True)], dim=1),
        whole("edges"),
        whole("weight"),
        whole("prior"),
        torch.cat([p.graph + n for n, p in enumerate(parts)]),
        whole("sentences"),
        torch.cat([p.owner + n for p, n in zip(parts, first, strict=True)]),
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("idle", [0, 5])
@torch.no_grad()
def test_untrained_it_is_the_papers_diffusion(seed: int, idle: int) -> None:
    graphs = _graphs(40, seed, idle)
    network = PathSelector(F, A, G, PathSelectorConfig(steps=32, layers=2)).eval()
    selected = network(graphs)
    live = graphs.weight > 0
    assert bool((~live).any())
    published = Transition.from_edges(graphs.edge_index[:, live], graphs.weight[live], 40)
    assert published.dangling or not idle
    exact = personalized_pagerank(published, graphs.prior, 0.5, 1e-7)
    torch.testing.assert_close(selected.energy, exact, atol=2e-3, rtol=0)
    # Keep logits are the logarithm of the energy, and so rank alike.
    assert selected.passages.argsort().tolist() == selected.energy.argsort().tolist()
    torch.testing.assert_close(selected.passages, (selected.energy + 1e-6).log())
    assert torch.equal(selected.sentences, selected.passages[graphs.owner])


def test_after_one_step_every_parameter_learns() -> None:
    torch.manual_seed(0)
    network = PathSelector(F, A, G, PathSelectorConfig(dropout=0.0))
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    graphs = _graphs(20, 0, idle=3)

    def loss() -> Tensor:
        found: Selected = network(graphs)
        return found.passages[3] + found.sentences[7] - found.transition[:5].log().sum()

    optimizer.zero_grad()
    loss().backward()
    optimizer.step()
    optimizer.zero_grad()
    loss().backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None and bool(torch.isfinite(parameter.grad).all()), name
        # These shift all logits of one softmax, which changes nothing.
        if name != "seed.bias" and not name.endswith("attention.bias"):
            assert float(parameter.grad.abs().max()) > 0, name


@torch.no_grad()
def test_the_order_of_passages_and_edges_does_not_count() -> None:
    graphs, network = _graphs(25, 2, idle=2), _network()
    random = torch.Generator().manual_seed(9)
    order = torch.randperm(25, generator=random)
    place = order.argsort()
    edges = torch.randperm(len(graphs.weight), generator=random)
    sentences = torch.randperm(len(graphs.owner), generator=random)
    moved = Graphs(
        graphs.nodes[order],
        place[graphs.edge_index[:, edges]],
        graphs.edges[edges],
        graphs.weight[edges],
        graphs.prior[order],
        graphs.graph,
        graphs.sentences[sentences],
        place[graphs.owner[sentences]],
    )
    one, other = network(graphs), network(moved)
    near = {"atol": 1e-5, "rtol": 1e-5}
    torch.testing.assert_close(other.passages, one.passages[order], **near)
    torch.testing.assert_close(other.energy, one.energy[order], **near)
    torch.testing.assert_close(other.sentences, one.sentences[sentences], **near)
    torch.testing.assert_close(other.transition, one.transition[edges], **near)


@torch.no_grad()
def test_a_batch_equals_its_graphs_one_by_one() -> None:
    parts = [_graphs(9, 0), _graphs(1, 1), _graphs(30, 2, idle=4)]
    network = _network()
    whole = network(_joined(parts))
    for name in Selected._fields:
        alone = torch.cat([getattr(network(part), name) for part in parts])
        torch.testing.assert_close(getattr(whole, name), alone, atol=1e-5, rtol=1e-5)
    sums = [float(e.sum()) for e in whole.energy.split([9, 1, 30])]
    assert sums == pytest.approx([1.0, 1.0, 1.0], abs=1e-5)


@torch.no_grad()
def test_what_leaves_a_node_sums_to_at_most_one() -> None:
    graphs = _graphs(20, 3, idle=2)
    out = torch.zeros(20).index_add(0, graphs.edge_index[0], _network()(graphs).transition)
    assert bool((out <= 1 + 1e-5).all()) and bool((out > 0).all())


@torch.no_grad()
def test_dropout_only_while_training() -> None:
    graphs, network = _graphs(12, 4), _network()
    assert torch.equal(network(graphs).passages, network(graphs).passages)
    network.train()
    assert not torch.equal(network(graphs).passages, network(graphs).passages)


@pytest.mark.parametrize("name", ["node", "edge", "sentence"])
@torch.no_grad()
def test_a_feature_of_infinite_scale_does_not_count(name: str) -> None:
    graphs, network = _graphs(12, 5), _network()
    field = {"node": "nodes", "edge": "edges", "sentence": "sentences"}[name]
    values = getattr(graphs, field)
    moved = values.clone()
    moved[:, 1] += 100 * torch.randn(len(values))
    changed = graphs._replace(**{field: moved})
    assert not torch.equal(network(graphs).sentences, network(changed).sentences)
    scale = torch.ones(values.shape[1])
    scale[1] = torch.inf
    network.standardise(name, values.mean(dim=0), scale)
    assert torch.equal(network(graphs).sentences, network(changed).sentences)
    assert bool(torch.isfinite(network(graphs).sentences).all())


@torch.no_grad()
def test_features_are_standardised_and_cut_off() -> None:
    graphs, network = _graphs(12, 6), _network()
    wide = graphs._replace(nodes=3 + 2 * graphs.nodes)
    expected = network(graphs).passages
    network.standardise("node", torch.full((F,), 3.0), torch.full((F,), 2.0))
    torch.testing.assert_close(network(wide).passages, expected, atol=1e-4, rtol=1e-4)
    far, farther = graphs.nodes.clone(), graphs.nodes.clone()
    far[0, 0], farther[0, 0] = 1e3, 1e6
    one, other = (network(graphs._replace(nodes=n)).passages for n in (far, farther))
    assert torch.equal(one, other)


@pytest.mark.parametrize("layers", [0, 1])
@pytest.mark.parametrize("steps", [0, 1])
@torch.no_grad()
def test_sizes(layers: int, steps: int) -> None:
    graphs = _graphs(7, 7)
    network = _network(PathSelectorConfig(width=8, layers=layers, steps=steps))
    found = network(graphs)
    assert found.passages.shape == found.energy.shape == (7,)
    assert found.sentences.shape == graphs.owner.shape
    assert found.transition.shape == graphs.weight.shape
    if not steps:
        seeds = (graphs.prior + 1e-6).log() + network.seed(network.node(graphs.nodes)).squeeze(1)
        torch.testing.assert_close(found.energy, seeds.softmax(0))


def test_the_size_stays_between_ten_and_sixty_thousand_weights() -> None:
    network = PathSelector(31, 24, 8)
    assert 10_000 < sum(p.numel() for p in network.parameters()) < 60_000


@pytest.mark.parametrize(
    "wrong", [{"width": 0}, {"layers": -1}, {"steps": -1}, {"dropout": 1.0}, {"restart": 0.0}]
)
def test_sizes_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="needs"):
        PathSelectorConfig(**wrong)  # type: ignore[arg-type]
