"""``device = auto | cpu | cuda | cuda:i``, obeyed everywhere."""

from __future__ import annotations

import re

from rag_research.errors import ConfigError


def resolve_device(device: str) -> str:
    """The torch device string to use.

    Args:
        device: ``auto`` takes the first CUDA device when there is one, else the CPU.

    Raises:
        ConfigError: not a device string, or a CUDA device that this machine lacks.
    """
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", device):
        raise ConfigError(f"device: got {device!r}, expected auto, cpu, cuda or cuda:INDEX.")
    if device == "cpu":
        return device
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device == "auto":
        return "cuda:0" if count else "cpu"
    index = int(device.partition(":")[2] or 0)
    if index >= count:
        raise ConfigError(
            f"device: {device!r} was asked for, but this machine has {count} usable CUDA devices. "
            "Use device=cpu or device=auto."
        )
    return f"cuda:{index}"
