"""Registering a sweep file on a wandb server; agents there run the same program."""

from __future__ import annotations

from rag_research.errors import ConfigError
from rag_research.evaluation.sweeps.sweep_file import Sweep
from rag_research.training.callbacks.wandb_mode import load_wandb, wandb_mode

PROJECT = "rag_research"


def register(sweep: Sweep) -> str:
    """Create the sweep on the server that wandb is logged in to.

    Args:
        sweep: its ``entity`` and ``project`` say where.

    Returns:
        The command that runs trials of it, on any machine, from the top of a checkout.

    Raises:
        ConfigError: no key, or no server that answers.
        MissingExtraError: wandb is not installed.
    """
    wandb = load_wandb("register=online")
    if wandb_mode("online", "register=online") != "online":
        raise ConfigError(
            "register=online: wandb has no key here, or WANDB_MODE says offline. Log in with "
            "`wandb login`, or leave register out to run the sweep on this machine."
        )
    content = dict(sweep.content)
    project = str(content.get("project", PROJECT))
    try:
        sweep_id = wandb.sweep(content, entity=content.get("entity"), project=project)
    except (wandb.errors.Error, ValueError, OSError) as error:
        raise ConfigError(f"register=online: the server refused the sweep: {error}") from error
    place = "/".join(filter(None, (content.get("entity"), project, sweep_id)))
    return f"wandb agent {place}"
