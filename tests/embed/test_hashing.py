import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_research.config import build
from rag_research.embed.base import Encoder
from rag_research.embed.hashing import Hashing
from rag_research.errors import ConfigError


def _hashing(dimension: int = 256) -> Hashing:
    return Hashing(build(Hashing.Config, {"dimension": dimension}))


def test_it_is_an_encoder() -> None:
    assert isinstance(_hashing(), Encoder)
    assert _hashing(64).dimension == 64


@given(st.lists(st.text(max_size=30), max_size=5))
def test_vectors_are_unit_and_do_not_depend_on_company(texts: list[str]) -> None:
    vectors = _hashing().encode(texts, "passage")
    assert vectors.shape == (len(texts), 256)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    for text, vector in zip(texts, vectors, strict=True):
        assert (_hashing().encode([text], "query")[0] == vector).all()


def test_one_word_has_the_hand_computed_weights() -> None:
    # "ab" has the word feature (weight 1) and the trigrams "#ab", "ab#" (weight 0.4 each).
    vector = _hashing(1 << 16).encode(["ab"], "query")[0]
    norm = math.sqrt(1 + 2 * 0.4**2)
    weights = sorted(np.abs(vector[vector != 0]).tolist())
    assert weights == pytest.approx([0.4 / norm, 0.4 / norm, 1 / norm])


def test_shared_words_bring_texts_closer_in_any_script() -> None:
    texts = ["the harbour of Trondheim", "Trondheim harbour", "音楽の歴史", "音楽", "صوت", "😀"]
    vectors = _hashing().encode(texts, "passage")
    similar = vectors @ vectors.T
    assert similar[0, 1] > similar[0, 2] + 0.3
    assert similar[2, 3] > similar[2, 4]


def test_case_and_width_do_not_count() -> None:
    vectors = _hashing().encode(["Oslo FJORD", "oslo fjord", "ｏｓｌｏ fjord"], "query")
    assert np.allclose(vectors[0], vectors[1]) and np.allclose(vectors[0], vectors[2])


def test_no_dimension_is_refused() -> None:
    with pytest.raises(ConfigError, match="dimension"):
        build(Hashing.Config, {"dimension": 0})


@given(st.lists(st.text(max_size=30), max_size=5))
def test_every_word_has_its_own_vector_as_state(texts: list[str]) -> None:
    encoder = _hashing(32)
    offsets = encoder.token_offsets(texts, "passage")
    seen = []
    for batch, states in encoder.token_states(texts, "passage"):
        for i, rows in zip(batch, states, strict=True):
            words = [texts[i][start:end] for start, end in offsets[i]]
            assert "".join(words) == "".join(texts[i].split()) or not texts[i].isascii()
            assert (rows == encoder.encode(words, "passage")).all()
            seen.append(i)
    assert sorted(seen) == list(range(len(texts)))
