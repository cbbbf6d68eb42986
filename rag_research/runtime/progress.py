"""One progress bar for everything that takes longer than two seconds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

SHOW_AFTER_SECONDS = 2.0


class Advance(Protocol):
    """Call it with the number of items finished since the last call."""

    def __call__(self, items: int = 1) -> None: ...


@contextmanager
def progress(label: str, total: int) -> Iterator[Advance]:
    """A bar on standard error that appears once the work has taken two seconds.

    Args:
        label: what is being done, e.g. ``"extract triplets"``.
        total: number of items.
    """
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(label, total=total)
    started = time.monotonic()
    shown = False

    def advance(items: int = 1) -> None:
        nonlocal shown
        bar.advance(task, items)
        if not shown and time.monotonic() - started > SHOW_AFTER_SECONDS:
            bar.start()
            shown = True

    try:
        yield advance
    finally:
        if shown:
            bar.stop()
