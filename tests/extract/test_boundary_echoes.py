"""Similarity to a document's opening and to its earlier units."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_research.extract import boundary_echoes
from rag_research.extract.boundary_echoes import (
    ECHO_COLUMNS,
    LEAD_COLUMNS,
    Features,
    echo_features,
    lead_features,
    ranks,
)


def _random(units: int, dimension: int = 5, seed: int = 0) -> Features:
    return np.random.default_rng(seed).normal(size=(units, dimension)).astype(np.float32)


@pytest.mark.parametrize("units", [0, 1, 2, 3, 7, 40])
def test_rows_are_finite_and_match_cuts(units: int) -> None:
    for vectors in (_random(units), np.zeros((units, 5), np.float32)):
        for rows, columns in (
            (lead_features(vectors), LEAD_COLUMNS),
            (echo_features(vectors), ECHO_COLUMNS),
        ):
            assert rows.shape == (max(units - 1, 0), columns)
            assert np.isfinite(rows).all()


def test_similarity_to_the_opening() -> None:
    """Four units; the third is the opening again, the others are at right angles to it."""
    vectors = np.array([[2, 0], [0, 1], [3, 0], [0, 4]], dtype=np.float32)
    rows = lead_features(vectors)
    near = rows[:, :5]  # of the units i - 1 .. i + 3 at the cut after unit i; opening of one
    mean = 1 / 3  # stands for the opening itself and for what lies outside
    expected = [[mean, mean, 0, 1, 0], [mean, 0, 1, 0, mean], [0, 1, 0, mean, mean]]
    np.testing.assert_allclose(near, expected, atol=1e-6)
    before, after, difference = rows[1, 15:18]  # windows of two
    assert before == pytest.approx(0.5**0.5) and after == pytest.approx(0.5**0.5)
    assert difference == pytest.approx(0, abs=1e-6)


def test_echoes_of_earlier_units() -> None:
    """The last of eleven units repeats the first, ten back, and half of the one before it."""
    vectors = np.eye(12, dtype=np.float32)[:11]
    vectors[10] = 2 * vectors[0] + vectors[9]
    close, far, ahead, grown, _, before, change, distance = echo_features(vectors)[9, :8]
    length = 5**0.5
    assert close == pytest.approx(1 / length) and far == pytest.approx(2 / length)
    assert ahead == 0 and before == 0
    assert grown == pytest.approx(1 / length) and change == pytest.approx(2 / length)
    assert distance == pytest.approx(np.log(11))


@given(units=st.integers(2, 30), seed=st.integers(0, 99))
def test_blocks_change_nothing(units: int, seed: int) -> None:
    """Against a plain loop over pairs, with blocks and reach smaller than the document."""
    vectors = _random(units, 4, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boundary_echoes, "_BLOCK", 5)
        patch.setattr(boundary_echoes, "REACH", 12)
        rows = echo_features(vectors)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    for i in range(1, units):
        cosines = {j: float(unit[i] @ unit[j]) for j in range(units)}
        close = [cosines[j] for j in range(max(i - 8, 0), i)]
        far = [cosines[j] for j in range(max(i - 12, 0), max(i - 8, 0))]
        ahead = [cosines[j] for j in range(i + 1, min(i + 9, units))]
        expected = [max(part, default=0.0) for part in (close, far, ahead)]
        np.testing.assert_allclose(rows[i - 1, :3], expected, atol=1e-5)
        nearest = max(range(max(i - 12, 0), i), key=lambda j: cosines[j])
        assert rows[i - 1, 7] == pytest.approx(np.log1p(i - nearest), abs=1e-5)


def test_ranks() -> None:
    assert ranks(np.array([3.0, 1.0, 2.0], dtype=np.float32)).tolist() == [1.0, 0.0, 0.5]
    assert ranks(np.zeros(1, dtype=np.float32)).tolist() == [0.0]
