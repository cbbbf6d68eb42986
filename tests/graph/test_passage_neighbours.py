"""Expansion through the table of neighbours against a product with every passage."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rag_research.embed.hashing import Hashing, HashingConfig
from rag_research.graph import passage_neighbours as module
from rag_research.graph.passage_neighbours import nearest_to_means, passage_neighbours
from rag_research.runtime.artifacts import ArtifactStore

from .conftest import MakeWorld

Floats = NDArray[np.float32]


def _unit(values: NDArray[np.float64]) -> Floats:
    return np.asarray(values / np.linalg.norm(values, axis=-1, keepdims=True), np.float32)


def _table(vectors: Floats, kept: int) -> tuple[NDArray[np.int32], Floats]:
    cosine = vectors @ vectors.T
    rows = np.argsort(-cosine, axis=1)[:, :kept]
    return rows.astype(np.int32), np.take_along_axis(cosine, rows, 1)


@given(
    seed=st.integers(0, 1000),
    count=st.integers(1, 60),
    kept=st.integers(1, 60),
    limit=st.integers(1, 12),
    width=st.integers(3, 20),
)
def test_the_table_changes_nothing(
    seed: int, count: int, kept: int, limit: int, width: int
) -> None:
    random = np.random.default_rng(seed)
    vectors = _unit(random.standard_normal((count, width)))
    question = _unit(random.standard_normal(width))
    passages = random.permutation(count)[:7]
    dense = vectors @ question
    table = _table(vectors, min(kept, count))
    found = nearest_to_means(vectors, dense, passages, limit, table)
    means = _unit(vectors[passages] + question)
    expected = np.sort(means @ vectors.T, axis=1)[:, ::-1][:, :limit]
    assert found.shape == expected.shape
    # Scores, not rows: two passages may be equally near.
    scores = np.take_along_axis(means @ vectors.T, found, 1)
    np.testing.assert_allclose(scores, expected, atol=1e-5)
    assert all(len(set(line)) == len(line) for line in found.tolist())
    plain = nearest_to_means(vectors, dense, passages, limit, None)
    np.testing.assert_allclose(np.take_along_axis(means @ vectors.T, plain, 1), expected, atol=1e-5)


def test_most_passages_are_never_multiplied(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    vectors = _unit(random.standard_normal((2000, 64)))
    dense = vectors @ _unit(vectors[0] + vectors[1])
    front = np.argsort(-dense)[:5]
    table = _table(vectors, 64)
    expected = nearest_to_means(vectors, dense, front, 11, None)
    monkeypatch.delattr(module, "_of_all")
    assert np.array_equal(nearest_to_means(vectors, dense, front, 11, table), expected)


def test_no_passages(make_world: MakeWorld) -> None:
    graph = make_world([]).graph
    assert graph.neighbours is not None and graph.neighbours[0].shape[0] == 0
    none = np.empty(0, np.int64)
    found = nearest_to_means(np.empty((0, 4), np.float32), np.empty(0, np.float32), none, 3, None)
    assert found.shape == (0, 0)


def test_the_table_is_built_once_and_not_for_very_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder, store = Hashing(HashingConfig(dimension=64)), ArtifactStore(tmp_path)
    vectors = _unit(np.random.default_rng(1).standard_normal((90, 64)))
    built = passage_neighbours(vectors, "texts", encoder, store)
    assert built is not None
    rows, cosine = built
    expected = _table(vectors, module.KEPT)
    assert np.array_equal(rows, expected[0])
    np.testing.assert_allclose(cosine, expected[1], atol=1e-6)
    monkeypatch.delattr(module, "_nearest")
    again = passage_neighbours(vectors, "texts", encoder, store)
    assert again is not None and np.array_equal(again[0], rows)
    monkeypatch.setattr(module, "MOST", 89)
    assert passage_neighbours(vectors, "texts", encoder, store) is None
