"""A table of a paper as a file of ``configs/paper``: rows, data sets, metrics, two sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import yaml

from rag_research.config.build import build
from rag_research.config.compose import compose_experiment, config_folder
from rag_research.config.schema import ExperimentConfig
from rag_research.errors import ConfigError, did_you_mean
from rag_research.evaluation.choices import check_known

Settings = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Size:
    """How large the runs of a table are.

    Args:
        datasets: data set as the paper's table names it -> settings that choose it.
        settings: of every run.
        rows: rows that differ in this size, or are there in this size only.
    """

    datasets: Mapping[str, Settings]
    settings: Settings = ()
    rows: Mapping[str, Settings | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PaperTable:
    """What a table needs.

    Args:
        published: key of the figures in ``published.yaml``.
        metrics: columns shown.
        reference: the row all others are compared with.
        rows: row -> settings that choose the system; ``None`` for a method that is not here, of
            which only published figures are shown.
        sizes: ``published``, as the paper ran it, and ``small``, for this machine.
    """

    published: str
    metrics: tuple[str, ...]
    reference: str
    rows: Mapping[str, Settings | None]
    sizes: Mapping[str, Size]


def table_names() -> list[str]:
    """Names of all tables."""
    return sorted(path.stem for path in (config_folder() / "paper").glob("*.yaml"))


def load_table(name: str) -> PaperTable:
    """Read one table.

    Raises:
        ConfigError: there is no such file, or it holds a key that cannot be used.
    """
    path = config_folder() / "paper" / f"{name}.yaml"
    if not path.is_file():
        known = table_names()
        raise ConfigError(
            f"There is no table {name!r}.{did_you_mean(name, known)} Known: {', '.join(known)}."
        )
    return build(PaperTable, yaml.safe_load(path.read_text(encoding="utf-8")), name)


def table_configs(
    table: PaperTable,
    size: str,
    settings: Sequence[str] = (),
    datasets: Sequence[str] = (),
    rows: Sequence[str] = (),
) -> Mapping[str, Mapping[str, ExperimentConfig]]:
    """Data set -> row -> configuration; rows of other people's systems are left out.

    Args:
        table: from :func:`load_table`.
        size: ``published`` or ``small``.
        settings: ``key=value`` words for every run; they come last.
        datasets: only these.
        rows: only these and the reference.

    Raises:
        ConfigError: a size, data set, row or setting does not exist.
    """
    check_known("size", [size], table.sizes)
    chosen = table.sizes[size]
    check_known("datasets", datasets, chosen.datasets)
    own = {name: words for name, words in {**table.rows, **chosen.rows}.items() if words}
    check_known("rows", rows, own)
    wanted = {*(rows or own), table.reference}
    shared = [f"evaluation.metrics=[{','.join(m for m in table.metrics if '@' not in m)}]"]
    return {
        dataset: {
            row: compose_experiment(
                [*shared, *chosen.settings, *chosen.datasets[dataset], *words, *settings]
            )
            for row, words in own.items()
            if row in wanted
        }
        for dataset in datasets or chosen.datasets
    }
