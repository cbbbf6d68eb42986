"""Losses of the trainable networks, on logits; targets may be soft."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

Reduction = Literal["mean", "none"]


def balancing_weight(targets: Tensor) -> float:
    """``sqrt(negatives / positives)``; 1 when there is no positive."""
    positive = float(targets.sum())
    negative = float(targets.numel()) - positive
    return (max(negative, 1.0) / positive) ** 0.5 if positive > 0 else 1.0


def weighted_bce(
    logits: Tensor,
    targets: Tensor,
    positive_weight: float = 1.0,
    smoothing: float = 0.0,
    reduction: Reduction = "mean",
) -> Tensor:
    """Mean of ``-(w y log p + (1 - y) log(1 - p))`` with ``y`` moved towards one half.

    ``y = t (1 - s) + s / 2`` with the smoothing ``s``.

    Args:
        logits: before the sigmoid.
        targets: in [0, 1].
        positive_weight: ``w``.
        smoothing: ``s`` in [0, 1).
        reduction: ``mean``, or ``none`` for one value an element.

    Shapes:
        [...], [...] -> [] (``none``: [...])
    """
    smoothed = targets * (1.0 - smoothing) + 0.5 * smoothing
    weight = torch.as_tensor(positive_weight, dtype=logits.dtype, device=logits.device)
    return binary_cross_entropy_with_logits(
        logits, smoothed, pos_weight=weight, reduction=reduction
    )


def focal_loss(
    logits: Tensor,
    targets: Tensor,
    gamma: float = 2.0,
    positive_weight: float = 1.0,
    reduction: Reduction = "mean",
) -> Tensor:
    """Mean of ``-w |t - p|^gamma (t log p + (1 - t) log(1 - p))``.

    Args:
        logits: before the sigmoid.
        targets: in [0, 1]; ``w`` multiplies the positive part.
        gamma: 0 gives :func:`weighted_bce` without smoothing.
        positive_weight: ``w``.

    Shapes:
        [...], [...] -> []

    Source: Lin et al. 2017, with soft targets after Li et al. 2020.
    """
    probability = torch.sigmoid(logits)
    weight = torch.as_tensor(positive_weight, dtype=logits.dtype, device=logits.device)
    each = binary_cross_entropy_with_logits(logits, targets, pos_weight=weight, reduction="none")
    focal = (targets - probability).abs() ** gamma * each
    return focal.mean() if reduction == "mean" else focal
