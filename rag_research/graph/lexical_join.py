"""Pairs of similar sets, exactly, without comparing every set with every other."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rag_research.errors import ConfigError

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Items = NDArray[np.int32]

# Sets from which sorting and matrix products are faster than a walk through the postings.
_MANY = 1000
_COMPARED_AT_ONCE = 1 << 22


class Pairs(NamedTuple):
    """Undirected weighted pairs.

    Attributes:
        first: the lower number of each pair, [E].
        second: the higher number of each pair, [E]; pairs are sorted by (first, second).
        value: similarity of each pair, [E].
    """

    first: Integers
    second: Integers
    value: Floats


class JaccardJoin:
    r"""All pairs of sets with :math:`|A \cap B| / |A \cup B| \ge t`, as sets keep coming in.

    Few new sets walk through an inverted index (element -> sets that hold it), so a set meets
    only those that share an element. A large first batch uses the prefix filter: sets of sizes
    a and b need an overlap of c elements, hence must share one of the a - c + 1 rarest elements
    of the one and the b - c + 1 rarest of the other. Elements that occur everywhere fall behind
    those prefixes, so hubs cost nothing. Both ways give the same pairs as brute force.

    Args:
        threshold: t, in (0, 1]. Sets without elements are similar to nothing.

    Source: prefix filtering after Chaudhuri et al. 2006, in the form of Xiao et al. 2008.
    """

    def __init__(self, threshold: float) -> None:
        if not 0 < threshold <= 1:
            raise ConfigError(f"jaccard: got {threshold}, expected a number in (0, 1].")
        self.threshold = threshold
        self._sets: list[frozenset[str]] = []
        self._postings: dict[str, list[int]] = {}
        self._posted = 0

    def add(self, sets: Sequence[Collection[str]]) -> Pairs:
        """Take in sets and return the pairs that have at least one of them.

        Args:
            sets: numbered on from the sets that are there.
        """
        start = len(self._sets)
        self._sets.extend(frozenset(items) for items in sets)
        if not start and len(sets) >= _MANY:
            return prefix_join(self._sets, self.threshold)
        return self._walk(start)

    def _walk(self, start: int) -> Pairs:
        rows: list[tuple[int, int, float]] = []
        self._post(start)
        for number in range(start, len(self._sets)):
            items = self._sets[number]
            shared: Counter[int] = Counter()
            for item in items:
                shared.update(self._postings.get(item, ()))
            for other, overlap in shared.items():
                value = overlap / (len(items) + len(self._sets[other]) - overlap)
                if value >= self.threshold:
                    rows.append((other, number, value))
            self._post(number + 1)
        return _sorted_pairs(
            np.array([row[0] for row in rows], np.int64),
            np.array([row[1] for row in rows], np.int64),
            np.array([row[2] for row in rows], np.float64),
        )

    def _post(self, stop: int) -> None:
        for number in range(self._posted, stop):
            for item in self._sets[number]:
                self._postings.setdefault(item, []).append(number)
        self._posted = max(self._posted, stop)


def prefix_join(sets: Sequence[Collection[str]], threshold: float) -> Pairs:
    """All pairs of ``sets`` at or above ``threshold``; see :class:`JaccardJoin`.

    Sets are handled by size, so the needed overlap, and with it the prefix, is exact for each
    pair of sizes.
    """
    groups, width = _by_size(sets)
    found: list[tuple[Integers, Integers, Floats]] = []
    for a, first in groups.items():
        for b, second in groups.items():
            needed = needed_overlap(a, b, threshold)
            if a <= b and needed <= a:
                found.extend(_join(first, second, needed, width))
    if not found:
        return Pairs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    return _sorted_pairs(*(np.concatenate(column) for column in zip(*found, strict=True)))


def needed_overlap(a: int, b: int, threshold: float) -> int:
    """The least overlap that lifts sets of sizes ``a`` and ``b`` to ``threshold``.

    ``min(a, b) + 1`` when none does.
    """
    for overlap in range(1, min(a, b) + 1):
        if overlap / (a + b - overlap) >= threshold:  # the very expression that decides later
            return overlap
    return min(a, b) + 1


class _Group:
    """Sets of one size.

    Args:
        numbers: of the sets, [n].
        items: their elements as integers, the rarest first, [n, size].
    """

    def __init__(self, numbers: Integers, items: Items) -> None:
        self.numbers, self.items = numbers, items
        self.columns = np.ascontiguousarray(items.T)
        self._matrices: dict[tuple[int, bool], Any] = {}

    def matrix(self, prefix: int, width: int, *, transposed: bool) -> Any:
        """Which of the ``width`` elements each set's prefix holds, sparse, [n, width] or its T."""
        from scipy.sparse import csr_array

        key = (prefix, transposed)
        if key not in self._matrices:
            rows = len(self.numbers)
            index = np.ascontiguousarray(self.items[:, :prefix]).ravel()
            ends = np.arange(0, rows * prefix + 1, prefix, dtype=np.int32)
            ones = np.ones(len(index), np.int32)
            matrix = csr_array((ones, index, ends), shape=(rows, width))
            self._matrices[key] = matrix.T.tocsr() if transposed else matrix
        return self._matrices[key]


def _by_size(sets: Sequence[Collection[str]]) -> tuple[dict[int, _Group], int]:
    flat = list(itertools.chain.from_iterable(sets))
    codes: dict[str, int] = {}
    code = np.array([codes.setdefault(item, len(codes)) for item in flat], np.int64)
    width = len(codes)
    rarity = np.empty(width, np.int64)
    rarity[np.argsort(np.bincount(code, minlength=width), kind="stable")] = np.arange(width)
    sizes = np.array([len(items) for items in sets], np.int64)
    # One sort brings the elements of every set together, the rarest first.
    keys = np.sort(np.repeat(np.arange(len(sets)), sizes) * max(width, 1) + rarity[code])
    items = (keys % max(width, 1)).astype(np.int32)
    starts = np.cumsum(sizes) - sizes
    groups = {}
    for size in np.unique(sizes[sizes > 0]).tolist():
        numbers = np.flatnonzero(sizes == size)
        groups[size] = _Group(numbers, items[starts[numbers, None] + np.arange(size)])
    return groups, width


def _join(
    first: _Group, second: _Group, needed: int, width: int
) -> Iterator[tuple[Integers, Integers, Floats]]:
    """Pairs of one size with another: candidates by prefixes, then their overlaps counted."""
    a, b = first.items.shape[1], second.items.shape[1]
    left = first.matrix(a - needed + 1, width, transposed=False)
    right = second.matrix(b - needed + 1, width, transposed=True)
    candidates = (left @ right).tocoo()
    rows, columns, met = candidates.row, candidates.col, candidates.data
    if first is second:
        below = rows < columns
        rows, columns, met = rows[below], columns[below], met[below]
    step = max(1, _COMPARED_AT_ONCE // (a + b))
    for at in range(0, len(rows), step):
        i, j, overlap = rows[at : at + step], columns[at : at + step], met[at : at + step]
        if needed > 1:
            overlap = overlap + _behind_prefixes(
                first.columns.take(i, axis=1), second.columns.take(j, axis=1), needed - 1
            )
            kept = overlap >= needed
            i, j, overlap = i[kept], j[kept], overlap[kept]
        shared = overlap.astype(np.float64)
        yield first.numbers[i], second.numbers[j], shared / (a + b - shared)


def _behind_prefixes(left: Items, right: Items, rest: int) -> NDArray[np.int16]:
    """Common elements of pairs of sets but for those in both prefixes.

    Args:
        left: elements of the one set of each pair, the rarest first, [a, m].
        right: elements of the other, [b, m].
        rest: elements behind each prefix.
    """
    common = np.zeros(left.shape[1], np.int16)
    for place, item in enumerate(left):
        behind = place >= len(left) - rest
        for other in right if behind else right[-rest:]:
            common += item == other
    return common


def _sorted_pairs(one: Integers, other: Integers, value: Floats) -> Pairs:
    first, second = np.minimum(one, other), np.maximum(one, other)
    order = np.argsort(first * (int(second.max(initial=0)) + 1) + second)
    return Pairs(first[order], second[order], value[order])
