"""BM25 scores against the rank_bm25 package, with the idf of Lucene put in."""

import math
from pathlib import Path

import numpy as np
import pytest

from rag_research.index.bm25 import BM25Config, build_bm25
from rag_research.index.lexical_tokens import tokenizer
from rag_research.runtime.artifacts import ArtifactStore


@pytest.mark.parametrize(("k1", "b"), [(1.5, 0.75), (0.9, 0.4)])
def test_all_scores_agree(tmp_path: Path, k1: float, b: float) -> None:
    rank_bm25 = pytest.importorskip("rank_bm25")
    random = np.random.default_rng(1)
    words = [f"word{i}" for i in range(80)]
    chances = 1 / np.arange(1, 81)
    chances /= chances.sum()
    texts = [" ".join(random.choice(words, random.integers(3, 40), p=chances)) for _ in range(250)]
    ids = [f"p{i}" for i in range(len(texts))]
    tokens = tokenizer(None, True)
    oracle = rank_bm25.BM25Okapi([tokens(text) for text in texts], k1=k1, b=b)
    found = {w: sum(w in set(tokens(t)) for t in texts) for w in words}
    count = len(texts)
    oracle.idf = {w: math.log(1 + (count - n + 0.5) / (n + 0.5)) for w, n in found.items()}
    queries = [" ".join(random.choice(words, 5)) for _ in range(30)]
    retriever = build_bm25("p", ids, texts, ArtifactStore(tmp_path), BM25Config(k1=k1, b=b))
    for query, hits in zip(queries, retriever.search(queries, count), strict=True):
        expected = oracle.get_scores(tokens(query)) / (k1 + 1)  # Okapi's constant factor
        scores = {hit.id: hit.score for hit in hits}
        assert set(scores) == {ids[i] for i in np.flatnonzero(expected)}
        for id, score in scores.items():
            assert score == pytest.approx(expected[int(id[1:])], abs=5e-6)
