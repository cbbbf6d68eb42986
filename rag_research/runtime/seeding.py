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
