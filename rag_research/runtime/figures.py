"""The figures a program leaves in its folder: what sweeps and people read, with or without wandb.

``history.jsonl`` grows while the program runs, a line an epoch: ``{"epoch": 0, "val/score": ...}``.
``summary.json`` is written once, at the end: ``{"val/score": ...}``, the figures of what the
program keeps. Names are the logged ones, ``split/metric``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path

from rag_research.runtime.text_files import write_text

HISTORY = "history.jsonl"
SUMMARY = "summary.json"
# A program writes into the folder that this variable names, unless its settings name another.
OUT = "RAG_RESEARCH_OUT"

Figures = Mapping[str, float]


def append_history(folder: Path, figures: Figures) -> None:
    """Add one line; a reader sees all of it or nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / HISTORY).open("a", encoding="utf-8") as file:
        file.write(json.dumps(_finite(figures)) + "\n")


def write_summary(folder: Path, figures: Figures) -> None:
    """Write the final figures by one rename."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / SUMMARY, json.dumps(_finite(figures), indent=2) + "\n")


def read_history(folder: Path) -> list[dict[str, float]]:
    """The lines written so far, the one under way left out."""
    path = folder / HISTORY
    if not path.is_file():
        return []
    whole = path.read_text(encoding="utf-8").rpartition("\n")[0]
    return [json.loads(line) for line in whole.splitlines()]


def read_summary(folder: Path) -> dict[str, float] | None:
    """The final figures, or ``None`` before there are any."""
    path = folder / SUMMARY
    if not path.is_file():
        return None
    figures: dict[str, float] = json.loads(path.read_text(encoding="utf-8"))
    return figures


def _finite(figures: Figures) -> dict[str, float]:
    """Without NaN and infinities, which JSON does not know: such a figure was not found."""
    return {name: value for name, value in figures.items() if math.isfinite(value)}
