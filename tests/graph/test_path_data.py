"""Candidate graphs as PyTorch Geometric data, alone and in batches."""

import numpy as np
import torch
from torch_geometric.data import Batch
from torch_geometric.loader import DataLoader
from torch_geometric.utils import is_undirected

from rag_research.graph.path_data import PathLabels, network_input, path_data
from rag_research.graph.path_edges import EDGE_FEATURES
from rag_research.graph.path_features import NODE_FEATURES, SENTENCE_FEATURES, PathGraph
from rag_research.models.path_selector import PathSelector

from .conftest import MakeWorld

PASSAGES = [
    ("a", "Ulm", "Ulm lies on the Danube. Anna was born here. It rains."),
    ("b", "Anna", "Anna married John."),
    ("c", "Danube", "A river near Ulm."),
    ("d", "", "no names"),
]


def _paths(make_world: MakeWorld) -> list[PathGraph]:
    world = make_world(PASSAGES)
    questions = ("Where was Anna born?", "Which river is near Ulm?", "")
    return [*map(world.path, questions), world.path("one", found=1, front=1, rounds=0)]


def _labels(path: PathGraph) -> PathLabels:
    count = len(path.rows)
    return PathLabels(
        np.eye(1, count, dtype=np.float32)[0],
        np.full(count, -1, np.int64),
        np.zeros(len(path.sentences), np.float32),
        1,
    )


def test_fields(make_world: MakeWorld) -> None:
    path = _paths(make_world)[0]
    data = path_data(path, _labels(path))
    count, edges = len(path.rows), len(path.edges.source)
    shapes = {key: tuple(value.shape) for key, value in data.to_dict().items()}
    assert shapes == {
        "x": (count, sum(map(len, NODE_FEATURES.values()))),
        "edge_index": (2, edges),
        "edge_attr": (edges, sum(map(len, EDGE_FEATURES.values()))),
        "edge_weight": (edges,),
        "prior": (count,),
        "sentence_x": (len(path.sentences), len(SENTENCE_FEATURES)),
        "sentence_owner": (len(path.sentences),),
        "rows": (count,),
        "y": (count,),
        "hop": (count,),
        "sentence_y": (len(path.sentences),),
        "missed": (1,),
    }
    assert data.num_nodes == count
    assert data.is_coalesced() and not data.has_self_loops()
    assert is_undirected(data.edge_index, num_nodes=count)
    assert "y" not in path_data(path)


def test_sentences_of_a_batch_name_its_passages(make_world: MakeWorld) -> None:
    paths = _paths(make_world)
    batch = Batch.from_data_list([path_data(path) for path in paths])
    first, expected = 0, []
    for path in paths:
        expected += [first + owner for owner in path.sentence_owner.tolist()]
        first += len(path.rows)
    assert batch.sentence_owner.tolist() == expected
    assert batch.rows.tolist() == [row for path in paths for row in path.rows.tolist()]


def test_one_several_and_a_batch_are_read_alike(make_world: MakeWorld) -> None:
    data = [path_data(path) for path in _paths(make_world)]
    torch.manual_seed(0)
    network = PathSelector(data[0].x.shape[1], data[0].edge_attr.shape[1], 8).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.1 * torch.randn(parameter.shape)
        alone = torch.cat([network(network_input(d)).passages for d in data])
        several = network(network_input(data)).passages
        (batch,) = DataLoader(data, batch_size=len(data))
        loaded = network(network_input(batch)).passages
    torch.testing.assert_close(several, alone, atol=1e-4, rtol=1e-4)
    assert torch.equal(several, loaded)
    assert bool(torch.isfinite(alone).all())
