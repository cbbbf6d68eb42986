"""Gradient boosting over the selector's features."""

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")

from rag_research.embed.hashing import Hashing, HashingConfig
from rag_research.evaluation import path_boosting
from rag_research.evaluation.path_boosting import (
    LINKED_CANDIDATES,
    ROWS,
    Boosting,
    boosting_rows,
    link_rows,
    load_boosting,
)
from rag_research.graph.path_candidates import CandidateConfig
from rag_research.graph.path_edges import EDGE_FEATURES, Edges
from rag_research.graph.path_features import NODE_FEATURES, SENTENCE_FEATURES, PathGraph
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.training.selector_config import SelectorDataConfig
from rag_research.training.selector_datasets import dataset_graphs

NODES = [name for group in NODE_FEATURES.values() for name in group]
EDGES = [name for group in EDGE_FEATURES.values() for name in group]
TOWNS = ("Keld", "Orm", "Vale", "Tarn", "Holt", "Beck", "Wick", "Moor")


def graph() -> PathGraph:
    """v0 and v1 both name v2; v0 has the better fused score, and more of v2's title; what v1
    leaves open v2 meets better."""
    nodes = np.zeros((3, len(NODES)), np.float32)
    nodes[:, NODES.index("fused")] = [0.75, 0.5, 0]
    features = np.zeros((4, len(EDGES)), np.float32)
    features[:, EDGES.index("names_target")] = [1, 1, 0, 0]
    features[:, EDGES.index("sentences_by_idf")] = [1, 2, 1, 2]
    features[:, EDGES.index("title_fresh")] = [0.5, 0.25, 0, 0]
    features[:, EDGES.index("hop")] = [0.1, 0.4, 0, 0]
    source, target = np.array([0, 1, 2, 2]), np.array([2, 2, 0, 1])
    edges = Edges(source, target, features, np.ones(4, np.float32), np.empty(0, np.float32))
    none = np.empty(0, np.int64)
    sentences = np.empty((0, len(SENTENCE_FEATURES)), np.float32)
    return PathGraph(np.arange(3), nodes, edges, np.full(3, 1 / 3), sentences, none, none)


def test_rows_hold_the_best_neighbour_of_each_view() -> None:
    rows = boosting_rows(graph())
    width = 1 + len(EDGES) + len(NODES)
    assert rows.shape == (3, len(NODES) + 6 * width)
    views = rows[:, len(NODES) :].reshape(3, 6, width)
    fused = 1 + len(EDGES) + NODES.index("fused")
    assert views[2, :, fused].tolist() == [0.75, 0, 0.5, 0.5, 0.75, 0.5]
    assert views[2, :, 0].tolist() == pytest.approx([0.75, 0, 2, 2, 0.5, 0.4])
    assert not views[0, :3].any()
    assert views[0, 3, 0] == 1 and views[0, 3, fused] == 0


def test_link_rows_hold_the_linked_neighbour_that_search_found_best() -> None:
    rows = link_rows(graph())
    own, named, naming, fused = 2, 7, 8, 10
    assert rows.shape == (3, 17)
    assert rows[:, own].tolist() == [0.75, 0.5, 0]
    assert rows[2, named] == 2 and rows[2, naming] == 0
    assert rows[2, fused] == 0.75
    assert not rows[:2, 9:].any()


def questions(path: Path) -> Path:
    """The film names its director, the director a town; a passage of bread stands beside."""
    rows = []
    for number, town in enumerate(TOWNS):
        film, person = f"Film {town}", f"Mia {town}"
        passages = [
            {"title": film, "sentences": [f"{film} is by {person}."], "is_gold": True},
            {"title": person, "sentences": [f"{person} was born in {town}."], "is_gold": True},
            {"title": f"Rye {number}", "sentences": [f"Rye {number} is a grain."],
             "is_gold": False},
        ]  # fmt: skip
        question = f"Where was the director of {film} born?"
        rows.append({"dataset": "toy", "id": str(number), "question": question,
                     "passages": passages})  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "name, candidates",
    [("gradient_boosting", CandidateConfig()), ("link_boosting", LINKED_CANDIDATES)],
)
def test_a_classifier_is_trained_once_and_ranks_gold_first(
    name: str, candidates: CandidateConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ArtifactStore(tmp_path / "store")
    config = SelectorDataConfig(
        questions=str(questions(tmp_path / "train.jsonl")),
        validation=0.0,
        store=str(tmp_path / "store"),
        cache=str(tmp_path / "cache"),
    )
    encoder = Hashing(HashingConfig())
    seen = []

    def noted(*arguments: object) -> object:
        seen.append(dataset_graphs(*arguments))  # type: ignore[arg-type]
        return seen[-1]

    monkeypatch.setattr(path_boosting, "dataset_graphs", noted)
    first = load_boosting(name, config, candidates, encoder, store)
    again = load_boosting(name, config, candidates, encoder, store)
    assert len(seen) == 1
    (manifest,) = store.manifests(path_boosting.STAGE)
    (toy,) = seen[0].values()
    assert toy.train_questions == len(TOWNS) and toy.pairs > 0
    whole = len(TOWNS) + toy.pairs + toy.untitled
    assert manifest["counts"]["graphs"] == len(toy.train) == whole
    for data in toy.train:
        path = path_boosting._arrays(data)
        scores, gold = first.scores(path), data.y.numpy() > 0
        assert scores[gold].mean() > scores[~gold].mean()
        assert again.scores(path).tolist() == scores.tolist()


@pytest.mark.parametrize("name", ROWS)
def test_nothing_is_scored_without_candidates(name: str) -> None:
    none = np.empty(0, np.int64)
    features = np.empty((0, len(EDGES)), np.float32)
    edges = Edges(none, none, features, np.empty(0, np.float32), np.empty(0, np.float32))
    sentences = np.empty((0, len(SENTENCE_FEATURES)), np.float32)
    nodes = np.empty((0, len(NODES)), np.float32)
    empty = PathGraph(none, nodes, edges, np.empty(0, np.float32), sentences, none, none)
    assert len(Boosting(name, None, CandidateConfig()).scores(empty)) == 0
