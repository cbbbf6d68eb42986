"""Softmax and maximum over groups of rows, without a pass more over the rows than needed."""

from __future__ import annotations

import torch
from torch import Tensor


def softmax_in_groups(logits: Tensor, group: Tensor, count: int) -> Tensor:
    """Softmax over the members of each group.

    Args:
        logits: of each row.
        group: of each row, in any order.
        count: number of groups; one without rows is fine.

    Shapes:
        [E], [E] -> [E]
    """
    with torch.no_grad():  # the maximum keeps exp in range; the result does not depend on it
        top = logits.new_full((count,), -torch.inf).scatter_reduce_(0, group, logits, "amax")
    raised = (logits - top.index_select(0, group)).exp()
    mass = raised.new_zeros(count).index_add_(0, group, raised)
    return raised / mass.index_select(0, group)


def largest_of_groups(values: Tensor, group: Tensor, count: int) -> Tensor:
    """Column maxima over the rows of each group; 0 for a group without rows.

    Args:
        values: of each row.
        group: of each row, in any order.
        count: number of groups.

    Shapes:
        [E, H], [E] -> [count, H]
    """
    place = group.unsqueeze(1).expand_as(values)
    largest = values.new_zeros(count, values.shape[1])
    return largest.scatter_reduce_(0, place, values, "amax", include_self=False)
