"""Candidate graphs as PyTorch Geometric data, for training and for the network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Batch, Data

from rag_research.graph.path_features import PathGraph
from rag_research.models.path_selector import Graphs


@dataclass(frozen=True, slots=True)
class PathLabels:
    """What is known of a training question.

    Args:
        gold: which candidates are gold. [N]
        hop: place of each gold candidate in the chain, from 0; -1 where unknown. [N]
        sentences: which sentences support the answer; all 0 where that is unknown. [S]
        missed: gold passages that are no candidates.
    """

    gold: NDArray[np.float32]
    hop: NDArray[np.int64]
    sentences: NDArray[np.float32]
    missed: int


class PathData(Data):
    """One candidate graph; sentences name their passage by its number in the batch."""

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        """See PyTorch Geometric."""
        if key == "sentence_owner":
            return self.num_nodes
        return super().__inc__(key, value, *args, **kwargs)


def path_data(path: PathGraph, labels: PathLabels | None = None) -> PathData:
    """A candidate graph as ``Data``.

    Args:
        path: the arrays.
        labels: for training.

    Returns:
        ``x`` [N, F], ``edge_index`` [2, E], ``edge_attr`` [E, A], ``edge_weight`` [E],
        ``prior`` [N], ``sentence_x`` [S, G], ``sentence_owner`` [S], ``rows`` [N]; with labels
        ``y`` [N], ``hop`` [N], ``sentence_y`` [S], ``missed`` [1].
    """
    edges = path.edges
    data = PathData(
        x=torch.from_numpy(path.nodes),
        edge_index=torch.from_numpy(np.stack([edges.source, edges.target])),
        edge_attr=torch.from_numpy(edges.features),
        edge_weight=torch.from_numpy(edges.weight),
        prior=torch.from_numpy(path.prior),
        sentence_x=torch.from_numpy(path.sentences),
        sentence_owner=torch.from_numpy(path.sentence_owner),
        rows=torch.from_numpy(path.rows),
    )
    if labels is not None:
        data.y = torch.from_numpy(labels.gold)
        data.hop = torch.from_numpy(labels.hop)
        data.sentence_y = torch.from_numpy(labels.sentences)
        data.missed = torch.tensor([labels.missed])
    return data


def network_input(data: Sequence[Data] | Data) -> Graphs:
    """One graph, several, or a batch of them, as the network reads it."""
    if isinstance(data, Data):
        batch = data
        graph = getattr(batch, "batch", None)
        if graph is None:
            graph = torch.zeros(batch.num_nodes, dtype=torch.long, device=batch.x.device)
    else:
        batch = Batch.from_data_list(list(data))
        graph = batch.batch
    return Graphs(
        batch.x,
        batch.edge_index,
        batch.edge_attr,
        batch.edge_weight,
        batch.prior,
        graph,
        batch.sentence_x,
        batch.sentence_owner,
    )
