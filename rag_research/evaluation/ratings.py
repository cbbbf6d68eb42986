"""Ratings from pairwise wins: ELO against a reference, and Bradley-Terry over all pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_research.errors import ConfigError
from rag_research.evaluation.statistics import Interval

BASE = 1600.0
SCALE = 400.0 / np.log(10.0)  # rating points of one natural unit of strength
_STEPS = 100_000
_CLOSE = 1e-10
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ratings:
    """The standing of R systems on one criterion; every value with a 95 % interval.

    Args:
        win_rates: ``[R][R]``, the part of the wins that the row has over the column, ties half;
            ``None`` where no question was judged.
        elo: by system, against the reference alone; ``None`` where no question was judged.
        bradley_terry: by system, from all pairs, shifted so that the reference has 1600;
            ``None`` where no question of any pair was judged.
    """

    win_rates: tuple[tuple[Interval | None, ...], ...]
    elo: tuple[Interval | None, ...]
    bradley_terry: tuple[Interval | None, ...]


def elo(win_rate: Any, games: Any) -> Floats:
    """The rating of a system that wins a share ``w`` of its games against the reference.

    ``R = 1600 - dR`` with ``dR = 400 log10(1/w - 1)`` (ToG-3, arXiv 2509.21710). A share of 0
    or 1 has no finite rating, so ``w`` is kept within ``[d, 1 - d]`` with
    ``d = 0.5 / (games + 1)``: the share after one more game, tied.

    Args:
        win_rate: ``w``, ties counted as half a win.
        games: how many it is from.
    """
    margin = 0.5 / (np.asarray(games, dtype=np.float64) + 1.0)
    kept = np.clip(np.asarray(win_rate, dtype=np.float64), margin, 1.0 - margin)
    rating: Floats = BASE - 400.0 * np.log10(1.0 / kept - 1.0)
    return rating


def bradley_terry(wins: Floats, prior: float = 1.0) -> Floats:
    """Strengths ``s`` with ``P(a beats b) = 1 / (1 + exp(s_b - s_a))``, most likely for ``wins``.

    Found by minorisation-maximisation (Hunter 2004, Ann. Statist. 32): with ``p = exp(s)`` and
    ``N = wins + wins^T``, repeat ``p_a <- sum_b wins_ab / sum_b (N_ab / (p_a + p_b))``.

    Args:
        wins: of the row over the column, a tie as half a win for both.
        prior: tied games added to every pair. One keeps the strengths finite where a system
            won every game or none; 0 is plain maximum likelihood.

    Shapes:
        wins ``[..., R, R]``, strengths ``[..., R]``, of mean 0.

    Raises:
        ConfigError: without a prior, no finite strengths are most likely.
    """
    size = wins.shape[-1]
    won = (wins + 0.5 * prior) * (1.0 - np.eye(size))
    games = won + np.swapaxes(won, -1, -2)
    total = won.sum(axis=-1)
    strengths = np.zeros(total.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(_STEPS):
            p = np.exp(strengths)
            shared = games / (p[..., :, None] + p[..., None, :])
            moved = np.log(total) - np.log(shared.sum(axis=-1))
            moved -= moved.mean(axis=-1, keepdims=True)
            step = np.abs(moved - strengths).max() if moved.size else 0.0
            strengths = moved
            if not step > _CLOSE:
                break
    if not np.isfinite(strengths).all() or step > _CLOSE:
        raise ConfigError(
            "Bradley-Terry: no finite strengths are most likely, because some systems won all "
            "of their games against the others, or were never set against them. Use prior > 0."
        )
    return strengths


def rate(cube: Floats, reference: int = 0, samples: int = 1000, seed: int = 0) -> Ratings:
    """Win rates and ratings, with percentile bootstrap intervals over questions.

    A resample draws questions; all pairs of a drawn question come with it.

    Args:
        cube: parts of the win by question, row and column; not a number where not judged.
        reference: number of the system rated 1600.
        samples: resamples.
        seed: of the resampling.

    Shapes:
        cube ``[Q, R, R]``.
    """
    questions, size, _ = cube.shape
    random = np.random.default_rng(seed)
    draws = random.multinomial(questions, np.full(questions, 1.0 / questions), size=samples)
    # Row 0 is the data itself, the others are resamples.
    weights = np.vstack([np.ones((1, questions)), draws])
    shape = (samples + 1, size, size)
    wins = (weights @ np.nan_to_num(cube).reshape(questions, -1)).reshape(shape)
    games = (weights @ (~np.isnan(cube)).reshape(questions, -1)).reshape(shape)
    with np.errstate(invalid="ignore"):
        rates = wins / games
    counts = games[0].astype(int)
    strengths = bradley_terry(wins)
    fitted = BASE + SCALE * (strengths - strengths[:, reference, None])
    against = elo(rates[:, :, reference], games[:, :, reference])
    against[:, reference] = BASE
    judged = counts.sum(axis=1)
    met = [judged[r] if r == reference else counts[r, reference] for r in range(size)]
    return Ratings(
        win_rates=tuple(
            tuple(_interval(rates[:, a, b], counts[a, b]) for b in range(size)) for a in range(size)
        ),
        elo=tuple(_interval(against[:, r], met[r]) for r in range(size)),
        bradley_terry=tuple(_interval(fitted[:, r], judged[r]) for r in range(size)),
    )


def _interval(values: Floats, n: int) -> Interval | None:
    if not n:
        return None
    low, high = np.nanquantile(values[1:], [0.025, 0.975])
    return Interval(float(values[0]), float(low), float(high), int(n))
