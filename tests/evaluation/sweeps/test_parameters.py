"""Parameters of sweep files, against wandb's own sampler where it is installed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_research.errors import ConfigError
from rag_research.evaluation.sweeps.parameters import read_parameters

ENTRIES: dict[str, dict[str, Any]] = {
    "constant": {"value": 3},
    "values": {"values": ["a", "b", "c"]},
    "weighted": {"values": ["a", "b"], "probabilities": [0.25, 0.75]},
    "whole": {"min": 2, "max": 5},
    "real": {"min": -1.0, "max": 3.0},
    "logs": {"distribution": "log_uniform_values", "min": 1e-4, "max": 1e-1},
    "exponents": {"distribution": "log_uniform", "min": -3, "max": 0},
    "inverse": {"distribution": "inv_log_uniform_values", "min": 0.1, "max": 10.0},
    "steps": {"distribution": "q_uniform", "min": 0, "max": 10, "q": 2},
    "tenths": {"distribution": "q_uniform", "min": 0.0, "max": 1.0, "q": 0.1},
    "log_steps": {"distribution": "q_log_uniform_values", "min": 1, "max": 100, "q": 5},
    "bell": {"distribution": "normal", "mu": 1.0, "sigma": 0.5},
    "log_bell": {"distribution": "log_normal", "mu": 0.0, "sigma": 1.0},
    "bell_steps": {"distribution": "q_normal", "mu": 0.0, "sigma": 3.0, "q": 1},
    "share": {"distribution": "beta", "a": 2, "b": 5},
}


def at(name: str, quantile: float) -> Any:
    [parameter] = read_parameters({name: ENTRIES[name]}, "parameters")
    return parameter.at(quantile)


def test_values_computed_by_hand() -> None:
    assert [at("values", q) for q in (0, 0.34, 0.99, 1)] == ["a", "b", "c", "c"]
    assert [at("weighted", q) for q in (0.24, 0.25, 1)] == ["a", "b", "b"]
    assert [at("whole", q) for q in (0, 0.25, 0.5, 1)] == [2, 3, 4, 5]
    assert at("real", 0.25) == pytest.approx(0.0)
    assert at("logs", 2 / 3) == pytest.approx(1e-2)
    assert at("inverse", 0.5) == pytest.approx(1.0)
    assert [at("steps", q) for q in (0, 0.24, 1)] == [0, 2, 10]
    assert at("tenths", 0.31) == 0.3  # and not 0.30000000000000004
    assert at("bell", 0.5) == pytest.approx(1.0)
    assert at("constant", 0.7) == 3


@pytest.mark.parametrize("name", ENTRIES)
@settings(deadline=None, max_examples=50)
@given(quantile=st.floats(0.001, 0.999))
def test_agrees_with_wandb(name: str, quantile: float) -> None:
    """wandb's engine: ``pip install --no-deps sweeps jsonref`` (its numpy limit is not needed)."""
    params = pytest.importorskip("sweeps.params")
    theirs = params.HyperParameter(name, dict(ENTRIES[name])).ppf(quantile)
    ours = at(name, quantile)
    if isinstance(ours, float):
        assert ours == pytest.approx(float(theirs), rel=1e-6, abs=1e-9)
    elif name != "whole" and name != "values":
        assert ours == theirs
    else:  # at the edge between two values theirs belongs to the first, ours to the second
        choices = ENTRIES[name].get("values") or [2, 3, 4, 5]
        assert abs(choices.index(ours) - choices.index(theirs)) <= (
            (quantile * len(choices)) % 1 < 1e-9
        )


def test_choices_are_listed_in_order() -> None:
    def choices(name: str) -> Any:
        return read_parameters({name: ENTRIES[name]}, "p")[0].choices

    assert choices("whole") == [2, 3, 4, 5]
    assert choices("steps") == [0, 2, 4, 6, 8, 10]
    assert choices("values") == ["a", "b", "c"]
    assert choices("real") is None


def test_nested_parameters_are_flattened_with_dots() -> None:
    entries = {
        "system": {"parameters": {"k": {"value": 1}, "x": {"parameters": {"y": {"value": 2}}}}}
    }
    assert [p.name for p in read_parameters(entries, "p")] == ["system.k", "system.x.y"]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"vals": [1]}, "expected value, values"),
        ({"distribution": "unifrm", "min": 0, "max": 1}, "Did you mean 'uniform'"),
        ({"distribution": "uniform", "min": 0}, "needs the key 'max'"),
        ({"min": 3, "max": 1}, "larger than max"),
        ({"values": []}, "at least one value"),
        ({"values": [1, 2], "probabilities": [0.5, 0.6]}, "summing to 1"),
        ({"distribution": "log_uniform_values", "min": 0, "max": 1}, "min > 0"),
        ({"distribution": "normal", "mean": 1}, "no key 'mean'"),
        ({"min": "a", "max": 1.0}, "expected a number"),
        (7, "expected a mapping"),
    ],
)
def test_an_unusable_entry_says_where_and_why(entry: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        read_parameters({"a": entry}, "file.yaml: parameters")
    assert str(error.value).startswith("file.yaml: parameters.a")
