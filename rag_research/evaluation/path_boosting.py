"""Gradient boosting over candidates: what a graph network has to beat.

``gradient_boosting`` sees all of the path selector's features on the selector's own candidates.
``link_boosting`` is the plain ranker one would try first: search scores, and links from names to
titles around the best of the search.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_research.errors import missing_extra
from rag_research.evaluation.path_baselines import edge_feature, node_feature
from rag_research.graph.corpus_graph import VERSION as GRAPH_VERSION
from rag_research.graph.path_candidates import CandidateConfig
from rag_research.graph.path_data import PathData
from rag_research.graph.path_edges import Edges
from rag_research.graph.path_features import VERSION as FEATURE_VERSION
from rag_research.graph.path_features import PathGraph
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.runtime.carriers import sha256_of
from rag_research.training.selector_config import SelectorDataConfig
from rag_research.training.selector_datasets import dataset_graphs

Floats = NDArray[np.float32]
STAGE = "gradient-boosting"
VERSION = 4
ROUNDS = 300
FILE = "model.joblib"
LINKED_CANDIDATES = CandidateConfig(
    found=20, front=10, namers=30, shared=0, shared_in_all=0, title_words=0
)
_OWN = ("cosine", "bm25", "fused", "dense_rank", "bm25_rank", "fused_rank", "titled_in_question")
_NEIGHBOUR = ("cosine", "fused", "fused_rank")
_BETWEEN = ("names_target", "named_by_target", "cosine", "expanded", "residual")


@dataclass(frozen=True, slots=True)
class Boosting:
    """Scores candidates by the probability of being gold.

    Args:
        name: one of :data:`ROWS`.
        model: a fitted classifier of scikit-learn.
        candidates: it was trained on.
    """

    name: str
    model: Any
    candidates: CandidateConfig

    def scores(self, path: PathGraph) -> Floats:
        """[N]"""
        if not len(path.rows):
            return np.empty(0, np.float32)
        rows = ROWS[self.name](path)
        scores: Floats = self.model.predict_proba(rows)[:, 1].astype(np.float32)
        return scores


def boosting_rows(path: PathGraph) -> Floats:
    """What the classifier sees of each candidate.

    Returns:
        ``[own | 6 x (score, edge, neighbour)]``; zeros where there is no such neighbour.

    Shapes:
        -> [N, F + 6 (1 + A + F)]
    """
    edges = path.edges
    fused = node_feature(path, "fused")[edges.source]
    named, naming = edge_feature(path, "names_target"), edge_feature(path, "named_by_target")
    linked = (named > 0) | (naming > 0)
    hop = edge_feature(path, "hop")
    spelt = edge_feature(path, "title_fresh")
    views = (
        (named > 0, fused),
        (naming > 0, fused),
        (linked, edge_feature(path, "sentences_by_idf")),
        (np.ones(len(fused), bool), edge_feature(path, "sentences_by_idf")),
        (spelt > 0, spelt),
        (hop > 0, hop),
    )
    return np.concatenate([path.nodes, *(_best(path, *view) for view in views)], axis=1)


def link_rows(path: PathGraph) -> Floats:
    """Search scores and ranks, links, and the linked neighbour that the search found best.

    Returns:
        ``[own | named, naming | neighbour | edge]``; zeros where there is no such neighbour.

    Shapes:
        -> [N, 17]
    """
    edges, count = path.edges, len(path.nodes)
    named, naming = edge_feature(path, "names_target"), edge_feature(path, "named_by_target")
    linked = np.flatnonzero((named > 0) | (naming > 0))
    links = [np.bincount(edges.target, values, count) for values in (named, naming)]
    fused = node_feature(path, "fused")[edges.source]
    linked = linked[np.argsort(fused[linked], kind="stable")]  # the best is written last
    source, target = edges.source[linked], edges.target[linked]
    told = [node_feature(path, name)[source] for name in _NEIGHBOUR]
    told += [edge_feature(path, name)[linked] for name in _BETWEEN]
    best = np.zeros((count, len(told)), np.float32)
    best[target] = np.stack(told, axis=1)
    own = [node_feature(path, name) for name in _OWN]
    return np.column_stack([*own, *links, best]).astype(np.float32)


ROWS: Mapping[str, Callable[[PathGraph], Floats]] = {
    "gradient_boosting": boosting_rows,
    "link_boosting": link_rows,
}


def _best(path: PathGraph, allowed: NDArray[np.bool_], score: Floats) -> Floats:
    """Score, edge and source of the best allowed edge into each candidate."""
    edges, nodes = path.edges, path.nodes
    width = 1 + edges.features.shape[1] + nodes.shape[1]
    rows = np.zeros((len(nodes), width), np.float32)
    chosen = np.flatnonzero(allowed)
    chosen = chosen[np.argsort(score[chosen], kind="stable")]  # the best is written last
    source, target = edges.source[chosen], edges.target[chosen]
    rows[target] = np.concatenate(
        [score[chosen, None], edges.features[chosen], nodes[source]], axis=1
    )
    return rows


def load_boosting(
    name: str,
    config: SelectorDataConfig,
    candidates: CandidateConfig,
    encoder: Any,
    store: ArtifactStore,
    seed: int = 0,
) -> Boosting:
    """Train, or find in ``store``, a classifier on the selector's training graphs.

    Validation questions are left out, as the selector does not learn from them either; a data
    set of n questions counts ``sqrt(n)`` or n, see ``SelectorDataConfig.weights``.

    Args:
        name: one of :data:`ROWS`.
        config: the questions; features and edges are always all there.
        candidates: how far the graphs reach.
        encoder: frozen; one that shows its tokens.
        store: keeps the classifier.
        seed: of the split.

    Raises:
        MissingExtraError: scikit-learn is not installed.
    """
    try:
        import joblib
        from sklearn.ensemble import HistGradientBoostingClassifier
    except ImportError as error:
        raise missing_extra("scikit-learn", "dev", "The gradient-boosting baseline") from error

    def write(directory: Path) -> Mapping[str, int]:
        parts = dataset_graphs(config, candidates, encoder, seed)
        graphs = {name: part.train for name, part in parts.items()}
        power = 0.5 if config.weights == "root" else 1.0
        rows, gold, weight = _table(graphs, ROWS[name], power)
        model = HistGradientBoostingClassifier(
            max_iter=ROUNDS,
            learning_rate=0.05,
            max_leaf_nodes=15,
            min_samples_leaf=20,
            l2_regularization=1.0,
            early_stopping=False,
            random_state=seed,
        )
        model.fit(rows, gold, sample_weight=weight)
        joblib.dump(model, directory / FILE)
        return {"graphs": sum(map(len, graphs.values())), "rows": len(rows)}

    inputs = {
        "name": name,
        "questions": sha256_of(Path(config.questions)),
        "data": config,
        "candidates": candidates,
        "encoder": dict(encoder.identity),
        "versions": [GRAPH_VERSION, FEATURE_VERSION],
        "seed": seed,
    }
    artifact = store.ensure(STAGE, VERSION, inputs, write)
    return Boosting(name, joblib.load(artifact.path / FILE), candidates)


def _table(
    graphs: Mapping[str, Sequence[PathData]], describe: Callable[[PathGraph], Floats], power: float
) -> tuple[Floats, Floats, NDArray[np.float64]]:
    """Rows, labels and weights of all candidates; a data set of n questions weighs n^power."""
    rows, gold, weight = [], [], []
    for own in graphs.values():
        for data in own:
            rows.append(describe(_arrays(data)))
            gold.append(data.y.numpy())
            weight.append(np.full(len(rows[-1]), len(own) ** (power - 1)))
    weights = np.concatenate(weight)
    return np.concatenate(rows), np.concatenate(gold), weights / weights.mean()


def _arrays(data: PathData) -> PathGraph:
    source, target = data.edge_index.numpy()
    edges = Edges(
        source,
        target,
        data.edge_attr.numpy(),
        data.edge_weight.numpy(),
        np.zeros(len(data.sentence_owner), np.float32),
    )
    return PathGraph(
        data.rows.numpy(),
        data.x.numpy(),
        edges,
        data.prior.numpy(),
        data.sentence_x.numpy(),
        data.sentence_owner.numpy(),
        np.zeros(len(data.sentence_owner), np.int64),
    )
