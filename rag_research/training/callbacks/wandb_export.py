"""What wandb shows of a finished training: figures by data set, a plot, the exported network."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FIGURES = "val/figures"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]")  # wandb refuses such artifacts
_LONGEST_NAME = 100


def log_export(run: Any, path: Path, figures: Mapping[str, Mapping[str, float]]) -> None:
    """Log the outcome of a training to an open wandb run.

    Args:
        run: of wandb.
        path: the exported weights; the card beside them goes along.
        figures: validation figures by data set or kind of document.
    """
    import wandb

    names = list(dict.fromkeys(name for own in figures.values() for name in own))
    rows = [[key, *(own.get(name) for name in names)] for key, own in figures.items()]
    bars = [
        [f"{key} {name}", own[name]]
        for key, own in figures.items()
        for name in names
        if name in own and name not in ("questions", "documents")
    ]
    table = wandb.Table(columns=["data", "figure"], data=bars)
    run.log(
        {
            FIGURES: wandb.Table(columns=["data", *names], data=rows),
            f"{FIGURES}_plot": wandb.plot.bar(table, "data", "figure", title="Validation"),
        }
    )
    name = _NOT_IN_NAMES.sub("-", path.stem)[:_LONGEST_NAME]
    artifact = wandb.Artifact(f"{name}-{run.id}", type="model")
    for file in (path, path.with_suffix(".json")):
        artifact.add_file(str(file))
    run.log_artifact(artifact)
