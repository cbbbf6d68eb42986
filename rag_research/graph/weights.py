"""One weight from the three values of an edge, and one row for every connected pair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rag_research.graph.lexical_join import Floats, Integers, Pairs

Matrix = NDArray[np.float64]
Blend = Callable[[Matrix, float, float, float], Floats]
Weights = Literal["published", "additive", "max"]

KINDS = ("narrative", "semantic", "lexical")


def published(values: Matrix, alpha: float, beta: float, gamma: float) -> Floats:
    r""":math:`w = \gamma N + (1 - \gamma)(\alpha S + \beta L)`.

    The paper gives the three constants and says what they govern; the formula is ours.

    Args:
        values: narrative, semantic and lexical value of each edge, 0 where it lacks one.
        alpha: share of semantic edges.
        beta: share of lexical edges.
        gamma: share of the reading order.

    Shapes:
        [E, 3] -> [E]
    """
    narrative, semantic, lexical = values.T
    weights: Floats = gamma * narrative + (1 - gamma) * (alpha * semantic + beta * lexical)
    return weights


def additive(values: Matrix, alpha: float, beta: float, gamma: float) -> Floats:
    r""":math:`w = \gamma N + \alpha S + \beta L`; arguments as for :func:`published`."""
    narrative, semantic, lexical = values.T
    weights: Floats = gamma * narrative + alpha * semantic + beta * lexical
    return weights


def strongest(values: Matrix, alpha: float, beta: float, gamma: float) -> Floats:
    r""":math:`w = \max(\gamma N, \alpha S, \beta L)`; arguments as for :func:`published`."""
    weights: Floats = (values * np.array([gamma, alpha, beta])).max(axis=1, initial=0.0)
    return weights


WEIGHTS: dict[str, Blend] = {"published": published, "additive": additive, "max": strongest}


def merge(kinds: Sequence[Pairs], place: Integers) -> tuple[Integers, Integers, Matrix]:
    """One row for every connected pair, with its value of each kind.

    Args:
        kinds: pairs of each kind, in the order of :data:`KINDS`; a pair at most once in each.
        place: new number of each node.

    Returns:
        Lower and higher new number of each pair, sorted, and values [E, 3].
    """
    size = max(len(place), 1)
    ends = []
    for pairs in kinds:
        one, other = place[pairs.first], place[pairs.second]
        ends.append(np.minimum(one, other) * size + np.maximum(one, other))
    keys, row = np.unique(np.concatenate(ends), return_inverse=True)
    values = np.zeros((len(keys), len(kinds)))
    column = np.repeat(np.arange(len(kinds)), [len(pairs.first) for pairs in kinds])
    values[row.reshape(-1), column] = np.concatenate([pairs.value for pairs in kinds])
    return keys // size, keys % size, values
