"""Exact search against a plain matrix product, over several blocks."""

import numpy as np
import pytest

import rag_research.index.flat as flat_module
from rag_research.index.flat import Flat, FlatConfig


@pytest.mark.parametrize("block", [7, 64, 100_000])
def test_scores_and_rows_equal_brute_force(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flat_module, "_BLOCK", block)
    random = np.random.default_rng(3)
    vectors = random.normal(size=(500, 24)).astype(np.float32)
    queries = random.normal(size=(9, 24)).astype(np.float32)
    flat = Flat(FlatConfig(device="cpu"))
    scores, rows = flat.searcher(flat.build(vectors)).top(queries, 13)
    every = queries.astype(np.float64) @ vectors.T.astype(np.float64)
    expected = np.argsort(-every, axis=1)[:, :13]
    assert (rows == expected).all()
    assert np.allclose(scores, np.take_along_axis(every, expected, axis=1), atol=1e-4)
