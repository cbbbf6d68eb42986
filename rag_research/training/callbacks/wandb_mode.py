"""Whether a run is sent to a wandb server or kept until somebody syncs it."""

from __future__ import annotations

import inspect
import os
from typing import Any, Literal, cast

from rag_research.errors import missing_extra

Mode = Literal["online", "offline", "disabled"]


def load_wandb(purpose: str) -> Any:
    """The module.

    Args:
        purpose: the setting that needs it.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        import wandb
    except ImportError as error:
        raise missing_extra("wandb", "wandb", purpose) from error
    return wandb


def wandb_mode(asked: str, purpose: str) -> Mode:
    """Online only if a key is there already: looked for without asking or connecting.

    Args:
        asked: ``online`` or ``offline``. Where online is asked for, the environment variable
            ``WANDB_MODE`` may say otherwise, as it does for the trials of a local sweep.
        purpose: the setting that needs it.

    Raises:
        MissingExtraError: wandb is not installed.
    """
    wandb = load_wandb(purpose)
    if asked != "online":
        return "offline"
    if (said := os.environ.get("WANDB_MODE")) in ("offline", "disabled"):
        return cast(Mode, said)
    if "prompt" in inspect.signature(wandb.login).parameters:
        return "online" if wandb.login(verify=False, prompt=False) else "offline"
    return "online" if wandb.api.api_key else "offline"  # wandb before 0.31
