"""Nearest neighbours in other documents: by hand, against sorting everything, grown."""

import faiss
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_research.graph.nearest import NOTHING, Neighbours, nearest_neighbours


def unit(random: np.random.Generator, count: int, dimension: int = 4) -> np.ndarray:
    vectors = random.normal(size=(count, dimension)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def rows(found: Neighbours) -> list[tuple[int, int, float]]:
    columns = (found.source.tolist(), found.target.tolist(), found.cosine.tolist())
    return list(zip(*columns, strict=True))


def sorted_out(vectors, documents, rank, k, floor):
    """Every pair, sorted in plain Python."""
    cosine = np.round(vectors.astype(np.float64) @ vectors.astype(np.float64).T, 6)
    found = []
    for i in range(len(vectors)):
        others = [j for j in range(len(vectors)) if documents[j] != documents[i]]
        near = sorted((j for j in others if cosine[i, j] >= floor),
                      key=lambda j: (-cosine[i, j], rank[j]))  # fmt: skip
        found += [(i, j, cosine[i, j]) for j in near[:k]]
    return found


def test_by_hand() -> None:
    vectors = np.array([[1, 0], [0.8, 0.6], [0, 1], [1, 0]], np.float32)
    documents = np.array([0, 1, 2, 0])
    found = nearest_neighbours(vectors, documents, np.arange(4), k=1, floor=0.5)
    # 0 and 3 are equal but of one document; both are nearest to 1, and 1 takes the first.
    assert rows(found) == [(0, 1, 0.8), (1, 0, 0.8), (2, 1, 0.6), (3, 1, 0.8)]


@settings(deadline=None)
@given(st.integers(0, 40), st.integers(1, 4), st.sampled_from([0.0, 0.3, 0.7]), st.integers(0, 9))
def test_equals_sorting_everything(count: int, k: int, floor: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    vectors = unit(random, count)
    if count > 3:
        vectors[1] = vectors[0]  # ties
    documents, rank = random.integers(0, 5, size=count), random.permutation(count)
    found = nearest_neighbours(vectors, documents, rank, k, floor)
    assert rows(found) == sorted_out(vectors, documents, rank, k, floor)


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(0, 40), st.integers(0, 9))
def test_growing_equals_at_once(count: int, start: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    vectors, start = unit(random, count), min(start, count)
    documents, rank = random.integers(0, 5, size=count), np.arange(count)
    whole = nearest_neighbours(vectors, documents, rank, 2, 0.2)
    first = nearest_neighbours(vectors[:start], documents[:start], rank[:start], 2, 0.2)
    grown = nearest_neighbours(vectors, documents, rank, 2, 0.2, first, start)
    assert rows(grown) == rows(whole)


def test_against_faiss_over_several_tiles() -> None:
    random = np.random.default_rng(0)
    vectors = unit(random, 5000, 16)
    found = nearest_neighbours(vectors, np.arange(5000), np.arange(5000), 5, -1.0)
    index = faiss.IndexFlatIP(16)
    index.add(vectors)
    scores, _ = index.search(vectors, 6)
    assert np.array_equal(found.source, np.repeat(np.arange(5000), 5))
    assert np.allclose(found.cosine.reshape(-1, 5), scores[:, 1:], atol=2e-6)


def test_no_nodes() -> None:
    none = np.empty(0, np.int64)
    assert rows(nearest_neighbours(np.empty((0, 4), np.float32), none, none)) == rows(NOTHING) == []
