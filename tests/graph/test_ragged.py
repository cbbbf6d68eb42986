"""Ragged arrays against plain loops."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_research.graph.ragged import (
    among,
    gather_runs,
    pairs_in_groups,
    ranks_in_groups,
    reduce_by_key,
)

sizes = st.lists(st.integers(0, 4), min_size=1, max_size=8)
keyed = st.lists(st.tuples(st.integers(0, 5), st.integers(-3, 3)), max_size=25)


def _groups(items: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    array = np.array(items, np.int64).reshape(-1, 2)
    return array[:, 0], array[:, 1].astype(np.float32)


@given(sizes, st.data())
def test_gathered_runs_come_in_the_asked_order(size: list[int], data: st.DataObject) -> None:
    start = np.cumsum([0, *size])
    rows = data.draw(st.lists(st.integers(0, len(size) - 1), max_size=10))
    places, group = gather_runs(start, np.array(rows, np.int64))
    expected = [(p, n) for n, r in enumerate(rows) for p in range(start[r], start[r + 1])]
    assert list(zip(places.tolist(), group.tolist(), strict=True)) == expected
    assert places.dtype == group.dtype == np.int64


@given(keyed)
def test_ranks_count_better_and_earlier_items_of_the_group(items: list[tuple[int, int]]) -> None:
    group, score = _groups(items)
    expected = [
        sum(
            h == g and (t > s or (t == s and other < own))
            for other, (h, t) in enumerate(zip(group, score, strict=True))
        )
        for own, (g, s) in enumerate(zip(group, score, strict=True))
    ]
    assert ranks_in_groups(group, score).tolist() == expected


@given(keyed)
def test_reduction_takes_the_largest_or_the_sum_of_each_key(items: list[tuple[int, int]]) -> None:
    key, value = _groups(items)
    own: dict[int, list[float]] = defaultdict(list)
    for k, v in zip(key.tolist(), value.tolist(), strict=True):
        own[k].append(v)
    keys, reduced = reduce_by_key(key, {"best": value, "all": value}, sums=("all",))
    assert keys.tolist() == sorted(own)
    assert reduced["best"].tolist() == [max(own[k]) for k in sorted(own)]
    assert reduced["all"].tolist() == [sum(own[k]) for k in sorted(own)]


@given(st.lists(st.integers(0, 4), max_size=15).map(sorted))
def test_pairs_are_all_ordered_pairs_of_one_group(group: list[int]) -> None:
    one, other = pairs_in_groups(np.array(group, np.int64))
    count = range(len(group))
    expected = [(i, j) for i in count for j in count if i != j and group[i] == group[j]]
    assert sorted(zip(one.tolist(), other.tolist(), strict=True)) == expected


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_nothing_gives_nothing(kind: type) -> None:
    places, group = gather_runs(np.zeros(1, kind), np.empty(0, kind))
    assert places.shape == group.shape == (0,)
    assert reduce_by_key(np.empty(0, np.int64), {"x": np.empty(0)})[1]["x"].shape == (0,)


@given(st.lists(st.integers(-2, 9), max_size=20), st.lists(st.integers(-1, 9), max_size=6))
def test_among_is_membership(values: list[int], few: list[int]) -> None:
    found = among(np.array(values, np.int64), np.array(sorted(few), np.int64))
    assert found.tolist() == [value in few for value in values]
