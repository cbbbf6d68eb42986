"""One seed governs all."""

from __future__ import annotations

import random


def seed_everything(seed: int) -> None:
    """Seed Python, numpy and torch (all devices).

    Args:
        seed: 0 <= seed < 2**32.
    """
    import numpy as np
    import torch

    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def check_seed_and_threads(seed: int, threads: int) -> None:
    """Refuse numbers that NumPy and PyTorch do not take, before any work.

    Raises:
        ValueError: one is out of range.
    """
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed: got {seed}, expected 0 to {2**32 - 1}.")
    if threads < 1:
        raise ValueError(f"threads: got {threads}, expected at least 1.")
