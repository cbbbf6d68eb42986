"""The sweep files of this project: wandb's schema, and settings that exist."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("pytorch_lightning")

from rag_research.config.build import build, to_dict
from rag_research.config.compose import compose_dict, config_folder
from rag_research.config.schema import ExperimentConfig
from rag_research.evaluation.sweeps.command import with_program
from rag_research.evaluation.sweeps.sweep_file import Sweep, read_sweep
from rag_research.training import boundary_run, selector_module
from rag_research.training.boundary_config import BoundaryTrainingConfig
from rag_research.training.selector_config import SelectorTrainingConfig

FILES = sorted((config_folder() / "sweep").glob("*.yaml"))
PROGRAMS: dict[str, tuple[str, type]] = {
    "train/boundary.py": ("boundary", BoundaryTrainingConfig),
    "train/selector.py": ("selector", SelectorTrainingConfig),
    "evaluate/run.py": ("experiment", ExperimentConfig),
}


@pytest.fixture(params=FILES, ids=lambda file: file.stem)
def file(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def test_there_is_one_for_each_trained_part_and_system() -> None:
    assert {"boundary", "selector", "t2rag", "threadrag", "tog3"} <= {f.stem for f in FILES}


def test_wandb_accepts_it(file: Path) -> None:
    """wandb's schema: ``pip install --no-deps sweeps jsonref`` (its numpy limit is not needed)."""
    schema = pytest.importorskip("sweeps.config")
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert schema.schema_violations_from_proposed_config(content) == []
    assert schema.schema_violations_from_proposed_config(content | {"method": "hill"})


def ends(sweep: Sweep) -> dict[str, list[Any]]:
    """Every value that is listed, or the ends of a range."""
    return {p.name: list(p.choices or (p.at(0.0), p.at(1.0))) for p in sweep.parameters}


def test_every_value_composes(file: Path) -> None:
    """In as many configurations as the longest list of values has."""
    sweep = with_program(read_sweep(file))
    root, schema = PROGRAMS[str(read_sweep(file).program)]
    values = ends(sweep)
    fixed = [word for word in sweep.command if "=" in word]
    for number in range(max(map(len, values.values()))):
        chosen = {name: choices[number % len(choices)] for name, choices in values.items()}
        words = [f"{key}={value}" for key, value in chosen.items()]
        config = to_dict(build(schema, compose_dict([*fixed, *words], name=root)))
        for name, value in chosen.items():
            found: Any = config
            for part in name.split("."):
                found = found[part]
            assert name in ("system", "dataset") or found == value, name


def test_values_differ_and_ranges_are_ranges(file: Path) -> None:
    for name, choices in ends(read_sweep(file)).items():
        assert all(a != b for n, a in enumerate(choices) for b in choices[:n]), name


def test_the_metric_is_one_that_the_program_leaves(file: Path) -> None:
    sweep = read_sweep(file)
    left = {
        "train/boundary.py": {boundary_run.MONITOR},
        "train/selector.py": {selector_module.MONITOR},
        "evaluate/run.py": {f"test/{name}" for name in compose_dict()["evaluation"]["metrics"]},
    }
    assert sweep.metric is not None and sweep.metric.goal == "maximize"
    assert sweep.metric.name in left[str(sweep.program)]
