"""Rows of different lengths in flat arrays: gathered, ranked and reduced without Python loops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


def gather_runs(start: NDArray[Any], rows: NDArray[Any]) -> tuple[Integers, Integers]:
    """Places of the runs ``start[r] .. start[r + 1]`` of some rows, joined.

    Args:
        start: of each run, and the end of the last.
        rows: which runs, in which order.

    Returns:
        The places, and for each the number of its run in ``rows``.

    Shapes:
        [N + 1], [R] -> [P], [P]
    """
    first = np.asarray(start[rows], np.int64)
    size = np.asarray(start[np.asarray(rows) + 1], np.int64) - first
    group = np.repeat(np.arange(len(size)), size)
    shift = first - np.cumsum(size) + size
    return np.arange(len(group)) + shift[group], group


def ranks_in_groups(group: Integers, score: NDArray[Any]) -> Integers:
    """Rank of each item among those of its group, from 0, best score first, ties in order.

    Shapes:
        [P], [P] -> [P]
    """
    order = np.lexsort((-score, group))  # is stable
    ordered = group[order]
    place = np.arange(len(group))
    ranks = np.empty(len(group), np.int64)
    ranks[order] = place
    if len(group):
        first = np.r_[True, ordered[1:] != ordered[:-1]]
        ranks[order] -= np.maximum.accumulate(np.where(first, place, 0))
    return ranks


def among(values: Integers, few: Integers) -> NDArray[np.bool_]:
    """Which values are one of a few; ``np.isin`` takes several times as long for a few.

    Args:
        values: in any order.
        few: ascending.

    Shapes:
        [P], [M] -> [P]
    """
    if not len(few):
        return np.zeros(len(values), bool)
    place = np.minimum(np.searchsorted(few, values), len(few) - 1)
    found: NDArray[np.bool_] = few[place] == values
    return found


def reduce_by_key(
    key: Integers, columns: Mapping[str, NDArray[Any]], sums: tuple[str, ...] = ()
) -> tuple[Integers, dict[str, NDArray[Any]]]:
    """The largest value of each column for each distinct key; the sum for those in ``sums``.

    Shapes:
        [P], [P] each -> sorted keys [U], [U] each
    """
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(key) else order
    reduced = {}
    for name, column in columns.items():
        values = column[order]
        if not len(key):
            reduced[name] = values
        elif name in sums:
            reduced[name] = np.add.reduceat(values, first)
        else:
            reduced[name] = np.maximum.reduceat(values, first)
    return ordered[first], reduced


def largest_of_runs(
    values: NDArray[Any], owner: Integers, count: int, empty: float = -1.0
) -> NDArray[np.float32]:
    """Column maxima over the rows of each owner.

    Args:
        values: rows of numbers.
        owner: of each row, ascending.
        count: how many owners there are.
        empty: stands for an owner without rows.

    Shapes:
        [P, C], [P] -> [count, C]
    """
    starts = np.searchsorted(owner, np.arange(count + 1))
    largest = np.full((count, values.shape[1]), empty, np.float32)
    live = np.flatnonzero(starts[1:] > starts[:-1])
    if len(live):
        largest[live] = np.maximum.reduceat(values, starts[live])
    return largest


def pairs_in_groups(group: Integers) -> tuple[Integers, Integers]:
    """Every ordered pair of different items of one group.

    Args:
        group: of each item, sorted.

    Shapes:
        [P] -> [Q], [Q]
    """
    if not len(group):
        return group, group
    first = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
    size = np.diff(np.r_[first, len(group)])
    own = np.repeat(np.arange(len(size)), size)
    start = np.r_[0, np.cumsum(size)]
    one = np.repeat(np.arange(len(group)), size[own])
    other, _ = gather_runs(start, own)
    different = one != other
    return one[different], other[different]
