"""Whether a run is sent to a wandb server or kept until somebody syncs it."""

from __future__ import annotations

import inspect
import os
from typing import Any, Literal, cast

Mode = Literal["online", "offline", "disabled"]


def wandb_mode(wandb: Any, asked: str) -> Mode:
    """Online only if a key is there already: looked for without asking or connecting.

    Args:
        wandb: the module.
        asked: ``online`` or ``offline``. Where online is asked for, the environment variable
            ``WANDB_MODE`` may say otherwise, as it does for the trials of a local sweep.
    """
    if asked != "online":
        return "offline"
    if (said := os.environ.get("WANDB_MODE")) in ("offline", "disabled"):
        return cast(Mode, said)
    if "prompt" in inspect.signature(wandb.login).parameters:
        return "online" if wandb.login(verify=False, prompt=False) else "offline"
    return "online" if wandb.api.api_key else "offline"  # wandb before 0.31
