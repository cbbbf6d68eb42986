"""The nearest neighbours of every node in other documents, exactly, in tiles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rag_research.embed.base import Vectors

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_TILE = 2048
_PENDING = 1 << 22
# What single precision may be off by; candidates within it are kept until float64 decides.
_MARGIN = 1e-5
_DECIMALS = 6


class Neighbours(NamedTuple):
    """Directed: ``target`` is among the nearest of ``source``.

    Attributes:
        source: [E].
        target: [E].
        cosine: rounded to six decimals, so that it does not depend on the batch, [E].
    """

    source: Integers
    target: Integers
    cosine: Floats


NOTHING = Neighbours(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


def nearest_neighbours(
    vectors: Vectors,
    documents: Integers,
    rank: Integers,
    k: int = 5,
    floor: float = 0.5,
    known: Neighbours = NOTHING,
    start: int = 0,
) -> Neighbours:
    """The ``k`` most similar nodes of other documents, for every node.

    Only similarities at or above ``floor`` are ever sorted, and each pair is multiplied once.
    With ``start``, only pairs that have a node from there on are compared; the best of them and
    of ``known`` are what a comparison of all would have given.

    Args:
        vectors: unit vectors of all nodes.
        documents: number of each node's document.
        rank: places of the nodes in an order of their own; decides between equal cosines.
        k: neighbours of a node.
        floor: least cosine.
        known: the result for the nodes before ``start``.
        start: number of the first new node.

    Shapes:
        vectors [N, D], documents [N], rank [N]
    """
    first, second, _ = _candidates(vectors, documents, k, floor - _MARGIN, start)
    cosine = _exact(vectors, first, second)
    enough = cosine >= floor
    first, second, cosine = first[enough], second[enough], cosine[enough]
    return _nearest(
        np.concatenate([known.source, first, second]),
        np.concatenate([known.target, second, first]),
        np.concatenate([known.cosine, cosine, cosine]),
        rank,
        k,
    )


def _candidates(
    vectors: Vectors, documents: Integers, k: int, floor: float, start: int
) -> tuple[Integers, Integers, Floats]:
    """Undirected pairs that may be among the nearest of one of their nodes."""
    import torch

    table = torch.from_numpy(np.array(vectors, np.float32))
    belongs = torch.from_numpy(documents)
    parts: list[tuple[Integers, Integers, Floats]] = []
    pending = 0
    for low in range(start, len(table), _TILE):
        rows = table[low : low + _TILE]
        for left in range(0, low + len(rows), _TILE):
            columns = table[left : min(left + _TILE, low + len(rows))]
            similar = rows @ columns.T
            i, j = (similar >= floor).nonzero(as_tuple=True)
            value = similar[i, j]
            i, j = i + low, j + left
            kept = (j < i) & (belongs[i] != belongs[j])
            part = i[kept].numpy(), j[kept].numpy(), value[kept].double().numpy()
            parts.append(part)
            pending += len(part[0])
            if pending > _PENDING:
                parts = [_promising(*_joined(parts), k)]
                pending = len(parts[0][0])
    return _promising(*_joined(parts), k) if parts else NOTHING


def _joined(parts: list[tuple[Integers, Integers, Floats]]) -> tuple[Integers, Integers, Floats]:
    first, second, value = (np.concatenate(column) for column in zip(*parts, strict=True))
    return first, second, value


def _promising(
    first: Integers, second: Integers, value: Floats, k: int
) -> tuple[Integers, Integers, Floats]:
    """Pairs within the margin of the k best of their one or their other node."""
    size = len(first)
    node = np.concatenate([first, second])
    both = np.concatenate([value, value])
    order = np.lexsort((-both, node))
    place = _place_in_group(node[order])
    worst = np.full(int(node.max()) + 1 if size else 0, -2.0)
    last = order[place == k - 1]
    worst[node[last]] = both[last]
    good = both >= worst[node] - _MARGIN if size else np.empty(0, bool)
    kept = good[:size] | good[size:]
    return first[kept], second[kept], value[kept]


def _exact(vectors: Vectors, first: Integers, second: Integers) -> Floats:
    """Rounded cosines in double precision, the same whatever pairs are asked together."""
    cosine = np.empty(len(first))
    for at in range(0, len(first), _TILE):
        part = slice(at, at + _TILE)
        products = vectors[first[part]].astype(np.float64) * vectors[second[part]]
        cosine[part] = products.sum(axis=1)
    return np.round(cosine, _DECIMALS)


def _nearest(
    source: Integers, target: Integers, cosine: Floats, rank: Integers, k: int
) -> Neighbours:
    order = np.lexsort((rank[target], -cosine, source))
    kept = order[_place_in_group(source[order]) < k]
    return Neighbours(source[kept], target[kept], cosine[kept])


def _place_in_group(grouped: Integers) -> Integers:
    """Place of each item within its run of equal values."""
    if not len(grouped):
        return np.empty(0, np.int64)
    heads = np.flatnonzero(np.r_[True, grouped[1:] != grouped[:-1]])
    sizes = np.diff(np.r_[heads, len(grouped)])
    return np.arange(len(grouped)) - np.repeat(heads, sizes)
