"""The sweep file names settings that exist, with values they accept."""

import itertools
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("pytorch_lightning")

from rag_research.config.build import build
from rag_research.config.compose import compose_dict
from rag_research.training.selector_config import SelectorTrainingConfig
from rag_research.training.selector_module import MONITOR

ROOT = Path(__file__).resolve().parents[2]
SWEEP: dict[str, Any] = yaml.safe_load(
    (ROOT / "configs" / "sweep" / "selector.yaml").read_text(encoding="utf-8")
)


def _values(parameter: dict[str, Any]) -> list[Any]:
    if "value" in parameter:
        return [parameter["value"]]
    return list(parameter.get("values") or (parameter["min"], parameter["max"]))


def test_it_is_a_sweep_of_this_program() -> None:
    assert (ROOT / SWEEP["program"]).is_file()
    assert SWEEP["method"] in {"bayes", "random", "grid"}
    assert SWEEP["metric"] == {"name": MONITOR, "goal": "maximize"}
    assert SWEEP["command"][-1] == "${args_no_hyphens}"


def test_every_value_composes() -> None:
    """Each value of each parameter, the others at their first."""
    first = {name: _values(parameter)[0] for name, parameter in SWEEP["parameters"].items()}
    fixed = [word for word in SWEEP["command"] if "=" in word]
    for name, parameter in SWEEP["parameters"].items():
        for value in _values(parameter):
            words = [f"{key}={it}" for key, it in (first | {name: value}).items()]
            config: Any = build(
                SelectorTrainingConfig, compose_dict([*fixed, *words], name="selector")
            )
            for part in name.split("."):
                config = getattr(config, part)
            assert config == value


def test_ranges_are_ranges() -> None:
    for parameter in SWEEP["parameters"].values():
        if "min" in parameter:
            assert parameter["min"] < parameter["max"]
            assert parameter["distribution"] in {"uniform", "log_uniform_values"}
        else:
            pairs = itertools.combinations(_values(parameter), 2)
            assert all(a != b for a, b in pairs)
