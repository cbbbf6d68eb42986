"""Jaccard pairs: hand-computed, against brute force, in one batch and in many."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_research.errors import ConfigError
from rag_research.graph.lexical_join import JaccardJoin, Pairs, needed_overlap, prefix_join

SETS = st.lists(st.frozensets(st.sampled_from("abcdefgh"), max_size=6), max_size=25)
THRESHOLDS = st.sampled_from([0.1, 0.2, 0.3, 1 / 3, 0.5, 0.75, 1.0])


def rows(pairs: Pairs) -> dict[tuple[int, int], float]:
    ends = zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)
    return dict(zip(ends, pairs.value.tolist(), strict=True))


def brute(sets: list[frozenset[str]], threshold: float) -> dict[tuple[int, int], float]:
    found = {}
    for j, b in enumerate(sets):
        for i, a in enumerate(sets[:j]):
            if a | b and len(a & b) / len(a | b) >= threshold:
                found[i, j] = len(a & b) / len(a | b)
    return found


def test_hand_computed_pairs() -> None:
    sets = [frozenset("abc"), frozenset("bcd"), frozenset("x"), frozenset(), frozenset("xy")]
    assert rows(prefix_join(sets, 0.3)) == {(0, 1): 0.5, (2, 4): 0.5}
    assert rows(prefix_join(sets, 0.51)) == {}


def test_needed_overlap_is_the_least_that_is_enough() -> None:
    assert needed_overlap(1, 1, 0.3) == 1
    assert needed_overlap(1, 3, 0.3) == 1  # 1 / 3
    assert needed_overlap(1, 4, 0.3) == 2  # 1 / 4 is too little, and there is no more
    assert needed_overlap(5, 5, 0.3) == 3  # 2 / 8 is too little, 3 / 7 enough
    assert needed_overlap(2, 2, 1.0) == 2


@given(SETS, THRESHOLDS)
def test_prefix_filter_equals_brute_force(sets: list[frozenset[str]], threshold: float) -> None:
    assert rows(prefix_join(sets, threshold)) == brute(sets, threshold)


@given(SETS, THRESHOLDS, st.integers(1, 7))
def test_growing_equals_at_once(sets: list[frozenset[str]], threshold: float, step: int) -> None:
    join, found = JaccardJoin(threshold), {}
    for at in range(0, len(sets), step):
        part = rows(join.add(sets[at : at + step]))
        assert found.keys().isdisjoint(part)
        assert all(j >= at for _, j in part)  # old pairs are not met again
        found |= part
    assert found == brute(sets, threshold)


def test_a_large_first_batch_then_few_more() -> None:
    random = np.random.default_rng(0)
    sets = [frozenset(map(str, random.zipf(1.5, size=4) % 300)) for _ in range(1300)]
    join = JaccardJoin(0.3)
    grown = rows(join.add(sets[:1200])) | rows(join.add(sets[1200:]))
    assert grown == brute(sets, 0.3)
    assert len(grown) > 1000


def test_very_many_common_elements_are_counted_right() -> None:
    long = [frozenset(map(str, range(n, n + 300))) for n in (0, 1, 40)]
    assert rows(prefix_join(long, 0.3)) == brute(long, 0.3)


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.1])
def test_a_threshold_that_means_nothing_is_refused(threshold: float) -> None:
    with pytest.raises(ConfigError, match="jaccard"):
        JaccardJoin(threshold)
