"""Bootstrap intervals against analytic values and against a plain loop."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from rag_research.errors import ConfigError
from rag_research.evaluation import statistics as bootstrap
from rag_research.evaluation.statistics import (
    bootstrap_interval,
    holm,
    paired_bootstrap,
    two_sided,
)


def test_equal_values_have_an_interval_of_no_width() -> None:
    interval = bootstrap_interval([0.25] * 8)
    assert (interval.mean, interval.low, interval.high, interval.n) == (0.25, 0.25, 0.25, 8)
    assert interval.half_width == 0.0


def test_two_values_by_hand() -> None:
    # Resampled means of (0, 1) are 0, 1/2, 1 with probability 1/4, 1/2, 1/4: the ends of
    # every interval above 50 % are 0 and 1.
    interval = bootstrap_interval([0.0, 1.0], samples=2000)
    assert (interval.mean, interval.low, interval.high) == (0.5, 0.0, 1.0)


def test_a_proportion_has_the_width_of_the_normal_approximation() -> None:
    values = [1.0] * 600 + [0.0] * 1400
    interval = bootstrap_interval(values, samples=4000, seed=3)
    analytic = 1.959964 * math.sqrt(0.3 * 0.7 / 2000)
    assert interval.mean == pytest.approx(0.3)
    assert interval.half_width == pytest.approx(analytic, rel=0.06)
    assert interval.low == pytest.approx(0.3 - analytic, abs=0.002)
    assert interval.high == pytest.approx(0.3 + analytic, abs=0.002)


def test_against_a_plain_loop() -> None:
    values = [random.Random(5).random() for _ in range(40)]
    draw = random.Random(6)
    means = sorted(sum(draw.choices(values, k=40)) / 40 for _ in range(20000))
    interval = bootstrap_interval(values, samples=20000, seed=1)
    assert interval.low == pytest.approx(means[500], abs=0.005)
    assert interval.high == pytest.approx(means[19500], abs=0.005)


def test_one_seed_one_interval() -> None:
    values = list(np.linspace(0, 1, 30))
    assert bootstrap_interval(values, seed=1) == bootstrap_interval(values, seed=1)
    assert bootstrap_interval(values, seed=1) != bootstrap_interval(values, seed=2)


def test_drawing_in_pieces_still_gives_every_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "_CELLS", 10)
    interval = bootstrap_interval([0.0, 1.0, 1.0, 0.0], samples=1001)
    assert 0.0 <= interval.low < interval.mean < interval.high <= 1.0


def test_pairing_sees_what_separate_intervals_hide() -> None:
    # Hard and easy questions differ a lot, the systems by a constant.
    b = [float(i % 2) for i in range(50)]
    a = [value + 0.1 for value in b]
    difference = paired_bootstrap(a, b)
    assert difference.interval.mean == pytest.approx(0.1)
    assert difference.interval.half_width == pytest.approx(0.0, abs=1e-12)
    assert difference.opposite == 0.0
    assert bootstrap_interval(a).low < bootstrap_interval(b).high


def test_the_share_of_opposite_resamples_by_hand() -> None:
    # Gaps (1, 0): a resample's mean is not above 0 only if it draws the 0 twice: 1/4.
    difference = paired_bootstrap([1.0, 1.0], [0.0, 1.0], samples=20000)
    assert difference.opposite == pytest.approx(0.25, abs=0.015)
    mirrored = paired_bootstrap([0.0, 1.0], [1.0, 1.0], samples=20000)
    assert mirrored.interval.mean == -0.5
    assert mirrored.opposite == pytest.approx(0.25, abs=0.015)


def test_what_cannot_be_resampled_is_an_error() -> None:
    with pytest.raises(ConfigError, match="0 values"):
        bootstrap_interval([])
    with pytest.raises(ConfigError, match="0 samples"):
        bootstrap_interval([1.0], samples=0)
    with pytest.raises(ConfigError, match="level 1"):
        bootstrap_interval([1.0], level=1)
    with pytest.raises(ConfigError, match="got 2 and 1 values"):
        paired_bootstrap([1.0, 2.0], [1.0])


def test_holm_by_hand() -> None:
    """Sorted .01, .02, .03, .04 times 4, 3, 2, 1, never smaller than the one before."""
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.5, 0.6]) == [1.0, 1.0]
    assert holm([]) == []


def test_two_sided_counts_one_resample_at_least() -> None:
    clear = paired_bootstrap([1.0] * 5, [0.0] * 5, samples=99)
    assert two_sided(clear, 99) == pytest.approx(0.02)
    assert two_sided(paired_bootstrap([1.0, 0.0], [1.0, 0.0], samples=99), 99) == 1.0
