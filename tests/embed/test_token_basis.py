import numpy as np
import pytest

from rag_research.embed.hashing import Hashing, HashingConfig
from rag_research.embed.token_basis import sample_texts, token_basis, unit_rows


def _hashing(dimension: int) -> Hashing:
    return Hashing(HashingConfig(dimension=dimension))


def test_columns_are_the_first_right_singular_vectors() -> None:
    encoder = _hashing(24)
    words = " ".join(sample_texts(encoder.vocabulary())).split()
    states = encoder.encode(words, "passage").astype(np.float64)
    expected = np.linalg.svd(states, full_matrices=False)[2][:10]
    basis = token_basis(encoder, 10)
    assert basis.shape == (24, 10) and basis.dtype == np.float32
    assert np.allclose(basis.T @ basis, np.eye(10), atol=1e-6)
    assert np.allclose(np.abs(np.sum(expected * basis.T, axis=1)), 1, atol=1e-4)
    assert (basis[np.abs(basis).argmax(axis=0), range(10)] > 0).all()
    assert (basis == token_basis(_hashing(24), 10)).all()
    assert (basis[:, :3] == token_basis(encoder, 3)).all()


@pytest.mark.parametrize("words", [0, 1, 59, 119, 4_096, 30_000])
def test_the_sample_is_spread_over_the_vocabulary(words: int) -> None:
    texts = sample_texts([str(i) for i in range(words)])
    numbers = sorted(int(word) for text in texts for word in text.split())
    assert len(numbers) == min(words, 4_096)
    assert max((len(text.split()) for text in texts), default=0) < 120
    if words > 1:
        assert len(set(np.diff(numbers))) == 1


def test_rows_of_zeros_stay() -> None:
    rows = np.array([[3, 4], [0, 0]], dtype=np.float32)
    assert np.allclose(unit_rows(rows), [[0.6, 0.8], [0, 0]])
