"""Early stop: bands by hand, and wandb's own rule as the second implementation."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_research.evaluation.sweeps.hyperband import Hyperband


def test_bands() -> None:
    assert Hyperband(min_iter=2).bands()[:4] == [2, 6, 18, 54]
    assert Hyperband(max_iter=27, s=2).bands() == [3, 9]
    assert Hyperband(max_iter=5, s=9, eta=2).bands() == [1, 2]


@pytest.mark.parametrize(
    "wrong", [{}, {"min_iter": 1, "max_iter": 2}, {"max_iter": 9}, {"min_iter": 1, "eta": 1}]
)
def test_settings_that_mean_nothing_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="needs"):
        Hyperband(**wrong)


def test_only_the_best_third_goes_on() -> None:
    rule = Hyperband(min_iter=2)
    others = [[9, 1.0], [9, 2.0], [9, 3.0], [9, 4.0], [9, 5.0]]
    assert rule.stops([9, 6.0], others)
    assert not rule.stops([9, 1.5], others)
    assert not rule.stops([100.0], others)  # no band reached
    assert not rule.stops([9, 6.0], [])  # nobody to compare with


histories = st.lists(
    st.lists(st.integers(0, 9).map(float), min_size=1, max_size=9), min_size=1, max_size=8
)


@settings(deadline=None, max_examples=50)
@given(all_=histories, strict=st.booleans(), eta=st.sampled_from([2, 3]))
def test_stops_what_wandb_stops(all_: list[list[float]], strict: bool, eta: int) -> None:
    sweeps = pytest.importorskip("sweeps")
    runs = [
        sweeps.SweepRun(
            name=str(n), state=sweeps.RunState.running, history=[{"loss": v} for v in history]
        )
        for n, history in enumerate(all_)
    ]
    config = {
        "method": "random",
        "metric": {"name": "loss", "goal": "minimize"},
        "early_terminate": {"type": "hyperband", "min_iter": 1, "eta": eta, "strict": strict},
        "parameters": {"a": {"values": [1]}},
    }
    theirs = {int(run.name) for run in sweeps.stop_runs(config, runs, validate=False)}
    rule = Hyperband(min_iter=1, eta=eta, strict=strict)
    ours = {n for n, own in enumerate(all_) if rule.stops(own, all_[:n] + all_[n + 1 :])}
    assert ours == theirs
