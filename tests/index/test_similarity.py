"""Cosine in place of a cross-encoder."""

import numpy as np

from rag_research.embed.hashing import Hashing, HashingConfig
from rag_research.index.similarity import Similarity
from rag_research.types import Hit

TEXTS = {"a": "rye is a grain", "b": "salt road is a film", "c": "rye bread"}
HITS = [Hit("b", 3.0), Hit("a", 2.0), Hit("c", 1.0)]


def test_order_is_that_of_the_cosines() -> None:
    encoder = Hashing(HashingConfig(dimension=256))
    hits = Similarity(encoder).rerank("rye bread", HITS, TEXTS, 3)
    query = encoder.encode(["rye bread"], "query")[0]
    cosines = {id: float(encoder.encode([t], "passage")[0] @ query) for id, t in TEXTS.items()}
    assert [h.id for h in hits] == ["c", "a", "b"]
    assert np.allclose([h.score for h in hits], [cosines[h.id] for h in hits], atol=1e-6)


def test_cut_and_empty() -> None:
    similarity = Similarity(Hashing(HashingConfig(dimension=64)))
    assert [h.id for h in similarity.rerank("film", HITS, TEXTS.__getitem__, 1)] == ["b"]
    assert similarity.rerank("film", [], TEXTS, 2) == []
    assert similarity.rerank("film", HITS, TEXTS, 0) == []
    assert len(similarity.rerank("film", [*HITS, *HITS], TEXTS, 9)) == 3
