"""Published figures, to print beside one's own: paper, table, reader and encoder named.

The figures lie in ``published.yaml``. They come from other readers, encoders and samples of
questions than a run here, so no difference to them is ever computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import yaml

from rag_research.config.build import build
from rag_research.errors import ConfigError, did_you_mean

FILE = Path(__file__).with_name("published.yaml")
Values = tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """One published number.

    Args:
        table: key of the table in ``published.yaml``.
        paper: paper and table in words.
        reader: the language model.
        encoder: the text encoder.
        method: as the paper calls it.
        system: the registered system here that is this method, or ``None``.
        dataset: ``2wiki``, ``hotpotqa``, ``musique``, ``popqa``, ``story`` or ``medical``.
        metric: a column of results.
        value: from 0 to 1.
    """

    table: str
    paper: str
    reader: str
    encoder: str
    method: str
    system: str | None
    dataset: str
    metric: str
    value: float


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """One table of a paper.

    Args:
        paper: paper and table in words.
        encoder: the text encoder of all rows.
        metrics: what the figures of a cell are, in order.
        scale: what a perfect score is printed as.
        readers: reader -> method -> data set -> one figure a metric.
        systems: method -> registered system here.
        note: what else a reader must know.
    """

    paper: str
    encoder: str
    metrics: tuple[str, ...]
    scale: float
    readers: Mapping[str, Mapping[str, Mapping[str, Values]]]
    systems: Mapping[str, str] = field(default_factory=dict)
    note: str | None = None

    def figures(self, table: str) -> list[Figure]:
        """All figures of the table, which is called ``table``."""
        return [
            Figure(
                table,
                self.paper,
                reader,
                self.encoder,
                method,
                self.systems.get(method),
                dataset,
                metric,
                round(value / self.scale, 6),
            )
            for reader, methods in self.readers.items()
            for method, datasets in methods.items()
            for dataset, values in datasets.items()
            for metric, value in zip(self.metrics, values, strict=True)
            if value is not None
        ]


@cache
def published_tables() -> Mapping[str, PublishedTable]:
    """All tables by key."""
    values = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return {key: build(PublishedTable, value, key) for key, value in values.items()}


def published_table(key: str) -> PublishedTable:
    """One table.

    Raises:
        ConfigError: there is none of that key.
    """
    tables = published_tables()
    if key not in tables:
        raise ConfigError(
            f"published: there is no table {key!r} in {FILE.name}.{did_you_mean(key, tables)} "
            f"Known: {', '.join(tables)}."
        )
    return tables[key]


def published_figures(system: str | None = None, dataset: str | None = None) -> Sequence[Figure]:
    """Figures of all tables, in the order of the file.

    Args:
        system: only those of this registered system.
        dataset: only those on this data set.
    """
    return [
        figure
        for key, table in published_tables().items()
        for figure in table.figures(key)
        if system in (None, figure.system) and dataset in (None, figure.dataset)
    ]
