"""From a command line to a trained network: what all training scripts do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytorch_lightning as pl

from rag_research.config.build import build
from rag_research.config.compose import compose_dict
from rag_research.training.resuming import check_resume
from rag_research.training.trainers import Figures, train_and_export


def train_command(
    settings: Sequence[str],
    name: str,
    schema: type[Any],
    parts: Callable[[Any], tuple[pl.LightningModule, Any]],
    monitor: str,
    export: Callable[..., tuple[Path, Figures]],
) -> int:
    """Compose, train, export, print the file and the validation figures.

    Args:
        settings: ``key=value`` words.
        name: root of the configuration, a file of ``configs``.
        schema: the configuration's class.
        parts: gives module and data of a configuration.
        monitor: the logged figure that is to grow.
        export: takes module, data and configuration.

    Returns:
        0.

    Raises:
        RagResearchError: settings, data or machine cannot be used.
    """
    config = build(schema, compose_dict(settings, name=name))
    check_resume(config)
    module, data = parts(config)
    done = train_and_export(module, data, config, monitor, export)
    if done is None:  # a debug run
        return 0
    path, figures = done
    print(path)
    for dataset, found in figures.items():
        print(dataset, " ".join(f"{figure}={value}" for figure, value in found.items()))
    return 0
