"""ELO and Bradley-Terry against values worked out by hand and a second implementation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize

from rag_research.errors import ConfigError
from rag_research.evaluation.ratings import SCALE, bradley_terry, elo, rate

Floats = NDArray[np.float64]


def test_elo_of_a_win_rate_by_hand() -> None:
    # w = 3/4: 1/w - 1 = 1/3, dR = 400 log10(1/3) = -190.85. w = 1/4 is its mirror image.
    assert elo(0.75, 100) == pytest.approx(1790.8485, abs=1e-4)
    assert elo(0.25, 100) == pytest.approx(1409.1515, abs=1e-4)
    assert elo(0.5, 3) == 1600.0
    # Ten to one is 400 points.
    assert elo(10 / 11, 110) == pytest.approx(2000.0)


def test_a_system_that_always_or_never_wins_is_rated_as_after_one_more_tied_game() -> None:
    # 9 of 9: w = 9.5 / 10, 400 log10(19) = 511.50.
    assert elo(1.0, 9) == pytest.approx(2111.5014, abs=1e-4)
    assert elo(0.0, 9) == pytest.approx(1088.4986, abs=1e-4)
    assert elo(1.0, 1) == pytest.approx(1600 + 400 * np.log10(3))
    # Only 0 and 1 are moved: half a win short of all is inside the bounds.
    assert elo(8.5 / 9, 9) == pytest.approx(1600 + 400 * np.log10(17))


def test_bradley_terry_of_two_is_the_odds_and_agrees_with_elo() -> None:
    strengths = bradley_terry(np.array([[0.0, 30.0], [10.0, 0.0]]), prior=0.0)
    assert strengths == pytest.approx([np.log(3) / 2, -np.log(3) / 2])
    assert SCALE * (strengths[0] - strengths[1]) == pytest.approx(float(elo(0.75, 40)) - 1600)


def test_bradley_terry_finds_the_strengths_that_the_wins_were_made_from() -> None:
    # p = (4, 2, 1), 30 games a pair: 20:10, 24:6, 20:10 are exactly what is expected.
    wins = np.array([[0.0, 20, 24], [10, 0, 20], [6, 10, 0]])
    expected = np.log([4.0, 2.0, 1.0]) - np.log(2.0)
    assert bradley_terry(wins, prior=0.0) == pytest.approx(expected, abs=1e-8)


def test_the_prior_is_one_tied_game_a_pair() -> None:
    won_all = np.array([[0.0, 9.0], [0.0, 0.0]])
    strengths = bradley_terry(won_all)
    assert strengths[0] - strengths[1] == pytest.approx(np.log(9.5 / 0.5))
    with pytest.raises(ConfigError, match="no finite strengths"):
        bradley_terry(won_all, prior=0.0)


def by_likelihood(wins: Floats) -> Floats:
    """The same strengths by direct minimisation of the negative log-likelihood."""
    size = len(wins)

    def loss(free: Floats) -> float:
        s = np.append(free, 0.0)
        return float((wins * np.logaddexp(0.0, s[None, :] - s[:, None])).sum())

    found = np.append(minimize(loss, np.zeros(size - 1), method="BFGS", tol=1e-10).x, 0.0)
    return found - found.mean()


@settings(max_examples=25, deadline=None)
@given(
    st.integers(2, 5).flatmap(
        lambda n: st.lists(st.integers(0, 20), min_size=n * n, max_size=n * n)
    )
)
def test_bradley_terry_against_direct_minimisation(counts: list[int]) -> None:
    size = round(len(counts) ** 0.5)
    wins = np.array(counts, dtype=np.float64).reshape(size, size)
    np.fill_diagonal(wins, 0.0)
    with_prior = wins + 0.5 * (1 - np.eye(size))
    assert bradley_terry(wins) == pytest.approx(by_likelihood(with_prior), abs=1e-3)


def test_many_tables_at_once_are_each_as_alone() -> None:
    random = np.random.default_rng(0)
    wins = random.integers(0, 9, size=(6, 4, 4)).astype(np.float64)
    together = bradley_terry(wins)
    for table, strengths in zip(wins, together, strict=True):
        assert strengths == pytest.approx(bradley_terry(table), abs=1e-8)


def cube(*scores: tuple[float, float, float]) -> Floats:
    """Rows of (0 over 1, 0 over 2, 1 over 2); ``nan`` is not judged."""
    out = np.full((len(scores), 3, 3), np.nan)
    for row, values in enumerate(scores):
        for (a, b), value in zip(((0, 1), (0, 2), (1, 2)), values, strict=True):
            out[row, a, b], out[row, b, a] = value, 1 - value
    return out


def test_rates_and_ratings_of_a_table_by_hand() -> None:
    nan = float("nan")
    ratings = rate(cube((1, 1, 0.5), (1, 0.5, nan), (0, 0.5, nan), (1, 1, nan)), samples=200)
    first_over_second, back = ratings.win_rates[0][1], ratings.win_rates[1][0]
    assert first_over_second is not None and back is not None
    assert (first_over_second.mean, first_over_second.n) == (0.75, 4)
    assert back.mean == 0.25
    assert back.low == pytest.approx(1 - first_over_second.high)
    thin = ratings.win_rates[1][2]
    assert thin is not None and (thin.mean, thin.low, thin.high, thin.n) == (0.5, 0.5, 0.5, 1)
    assert ratings.win_rates[0][0] is None
    elos = [round(i.mean, 2) for i in ratings.elo if i is not None]
    assert elos == [1600.0, 1409.15, 1409.15]
    low, high = ratings.elo[0].low, ratings.elo[0].high  # type: ignore[union-attr]
    assert (low, high) == (1600.0, 1600.0)
    fitted = [i.mean for i in ratings.bradley_terry if i is not None]
    # Second and third are alike against the first and tie with each other.
    assert fitted[0] == 1600.0
    assert fitted[1] == pytest.approx(fitted[2]) and fitted[1] < 1600
    # One tied game more: 3.5 of 5 for the first.
    assert fitted[1] == pytest.approx(1600 - 400 * np.log10(3.5 / 1.5), abs=1e-4)


def test_the_reference_may_be_any_system() -> None:
    ratings = rate(cube((1, 1, 0.5), (1, 0, 0.5), (0, 1, 0.5), (1, 1, 0.5)), 1, samples=50)
    assert [round(i.mean, 1) for i in ratings.elo if i is not None] == [1790.8, 1600.0, 1600.0]
    assert ratings.bradley_terry[1] is not None and ratings.bradley_terry[1].mean == 1600.0


def test_what_was_never_judged_has_no_rating() -> None:
    nothing = rate(np.full((3, 2, 2), np.nan), samples=20)
    assert nothing.elo == nothing.bradley_terry == (None, None)
    assert nothing.win_rates == ((None, None), (None, None))


def test_intervals_hold_the_estimate_and_shrink_with_questions() -> None:
    few = rate(cube(*[(1, 0, 0.5), (0, 1, 0.5)] * 5), samples=400)
    many = rate(cube(*[(1, 0, 0.5), (0, 1, 0.5)] * 80), samples=400)
    for kind in ("elo", "bradley_terry"):
        small, large = getattr(few, kind)[1], getattr(many, kind)[1]
        assert small.low <= small.mean <= small.high
        assert large.high - large.low < (small.high - small.low) / 2
    assert rate(cube(*[(1, 0, 0.5)] * 4), samples=30) == rate(cube(*[(1, 0, 0.5)] * 4), samples=30)
