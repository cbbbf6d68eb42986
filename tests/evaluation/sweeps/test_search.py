"""Which configurations trials get."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from rag_research.errors import ConfigError, MissingExtraError
from rag_research.evaluation.sweeps.search import grid_size, make_search
from rag_research.evaluation.sweeps.sweep_file import Sweep, read_sweep
from rag_research.evaluation.sweeps.trials import Trial


def sweep(tmp_path: Path, method: str, parameters: Mapping[str, Any], **more: Any) -> Sweep:
    file = tmp_path / "sweep.yaml"
    content = {"program": "p.py", "method": method, "parameters": parameters, **more}
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    return read_sweep(file)


def test_grid_is_in_order_and_ends(tmp_path: Path) -> None:
    grid = sweep(
        tmp_path, "grid", {"a": {"values": [1, 2]}, "b": {"min": 0, "max": 2}, "c": {"value": "x"}}
    )
    search = make_search(grid, 0)
    found = [search(n, []) for n in range(grid_size(grid.parameters))]
    pairs = [(t.parameters["a"], t.parameters["b"]) for t in found if t]
    assert pairs == [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)]
    assert all(t and t.parameters["c"] == "x" for t in found)
    assert list(found[0].parameters) == ["a", "b", "c"] if found[0] else False
    assert search(6, []) is None


def test_a_grid_of_endless_values_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"parameters.a: a grid cannot list"):
        make_search(sweep(tmp_path, "grid", {"a": {"min": 0.0, "max": 1.0}}), 0)


def test_random_depends_on_seed_and_number_alone(tmp_path: Path) -> None:
    a, b = {"min": 0.0, "max": 1.0}, {"values": list(range(100))}
    one = make_search(sweep(tmp_path, "random", {"a": a}), 1)
    both = make_search(sweep(tmp_path, "random", {"a": a, "b": b}), 1)
    other = make_search(sweep(tmp_path, "random", {"a": a}), 2)

    def first(search: Any, number: int) -> float:
        return float(search(number, []).parameters["a"])

    assert [first(one, n) for n in range(5)] == [first(both, n) for n in range(5)]
    assert first(one, 0) != first(one, 1)
    assert first(one, 0) != first(other, 0)


def test_bayes_learns_and_repeats_itself(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    parameters = {
        "x": {"min": -10.0, "max": 10.0},
        "layers": {"values": [[8], [8, 8]]},
        "n": {"min": 1, "max": 4},
        "fixed": {"value": 7},
    }
    bayes = sweep(tmp_path, "bayes", parameters, metric={"name": "loss"})

    def run(count: int) -> list[Trial]:
        trials: list[Trial] = []
        for number in range(count):
            trial = make_search(bayes, 0)(number, trials)
            assert trial is not None
            value = (trial.parameters["x"] - 3) ** 2
            trials.append(Trial(number, trial.parameters, trial.places, "finished", value=value))
        return trials

    found = run(40)
    assert found == run(40)
    assert {t.parameters["fixed"] for t in found} == {7}
    assert all(t.parameters["layers"] in ([8], [8, 8]) for t in found)
    early = sum(t.value or 0 for t in found[:10]) / 10
    late = sum(t.value or 0 for t in found[-10:]) / 10
    assert late < early / 2
    assert min(t.value or 0 for t in found) < 0.5


def test_bayes_goes_on_behind_every_kind_of_trial(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    search = make_search(
        sweep(tmp_path, "bayes", {"x": {"min": 0.0, "max": 1.0}}, metric={"name": "loss"}), 0
    )
    first = Trial(0, {"x": 0.5}, {"x": 0.5})
    before = [
        first,
        Trial(1, {"x": 0.1}, {"x": 0.1}, "failed"),
        Trial(2, {"x": 0.2}, {"x": 0.2}, "stopped", (3.0, 2.0), 2.0),
        Trial(3, {"x": 0.3}, {"x": 0.3}, "finished", (1.0,), 1.0),
    ]
    trial = search(4, before)
    assert trial is not None and 0 <= trial.parameters["x"] <= 1


def test_without_optuna_bayes_gives_the_install_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingExtraError, match=r"rag-research\[sweep\]"):
        make_search(sweep(tmp_path, "bayes", {"x": {"value": 1}}, metric={"name": "l"}), 0)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"method": "hill"}, "method: got 'hill'"),
        ({"metrik": {"name": "x"}}, "no key 'metrik'. Did you mean 'metric'"),
        ({"early_terminate": {"type": "hyperband", "min_iter": 1}}, "metric: .* needs it"),
        ({"scheduler": {"engine": "optuna"}}, "only a wandb server"),
        ({"run_cap": 0}, "run_cap"),
        ({"metric": {"name": "x", "goal": "maximise"}}, "metric.goal: got 'maximise'"),
        (
            {"metric": {"name": "x"}, "early_terminate": {"type": "hyperband", "min_iters": 1}},
            "early_terminate.min_iters: .*Did you mean 'min_iter'",
        ),
    ],
)
def test_an_unusable_file_says_why(tmp_path: Path, more: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        sweep(tmp_path, **{"method": "grid", "parameters": {"a": {"value": 1}}, **more})
