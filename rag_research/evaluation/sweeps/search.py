"""Which configuration a trial gets: grid, random, or bayes."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rag_research.errors import ConfigError, missing_extra
from rag_research.evaluation.sweeps.parameters import Parameter
from rag_research.evaluation.sweeps.sweep_file import Metric, Sweep
from rag_research.evaluation.sweeps.trials import Trial

# A trial of this number, behind these trials, or None when there is no configuration left.
Search = Callable[[int, Sequence[Trial]], Trial | None]

_STARTUP = 8  # random trials before bayes begins to learn


def make_search(sweep: Sweep, seed: int) -> Search:
    """The search that the file asks for.

    Args:
        sweep: a sweep file.
        seed: of ``random`` and ``bayes``. Trial n of ``random`` depends on seed and n alone.

    Raises:
        ConfigError: a grid over a parameter with endlessly many values.
        MissingExtraError: ``bayes`` without optuna.
    """
    if sweep.method == "grid":
        return _grid(sweep.parameters)
    if sweep.method == "random":
        return lambda number, _: Trial(number, _drawn(sweep.parameters, seed, number))
    assert sweep.metric is not None
    return _bayes(sweep.parameters, sweep.metric, seed)


def grid_size(parameters: Sequence[Parameter]) -> int:
    """The number of configurations of a grid."""
    return math.prod(len(_choices(parameter)) for parameter in parameters)


def _choices(parameter: Parameter) -> Sequence[Any]:
    if parameter.choices is None:
        raise ConfigError(
            f"parameters.{parameter.name}: a grid cannot list the values of "
            f"{parameter.distribution}. Give values, or use method: random."
        )
    return parameter.choices


def _grid(parameters: Sequence[Parameter]) -> Search:
    """All combinations; the last parameter of the file changes fastest."""
    size = grid_size(parameters)

    def propose(number: int, _: Sequence[Trial]) -> Trial | None:
        if number >= size:
            return None
        rest, values = number, {}
        for parameter in reversed(parameters):
            choices = _choices(parameter)
            rest, place = divmod(rest, len(choices))
            values[parameter.name] = choices[place]
        return Trial(number, dict(reversed(values.items())))

    return propose


def _drawn(parameters: Sequence[Parameter], seed: int, number: int) -> dict[str, Any]:
    """A draw of its own for each parameter, so that a further one leaves the others as they are."""
    return {p.name: p.at(random.Random(f"{seed}/{number}/{p.name}").random()) for p in parameters}


def _bayes(parameters: Sequence[Parameter], metric: Metric, seed: int) -> Search:
    """Tree-structured Parzen estimators of optuna.

    A parameter is searched by its quantile, or by the number of its value where it has few, so
    that every distribution of the file is what the search begins from. The study is made anew
    from the trials that are kept, so an interrupted sweep goes on as it would have.
    """
    try:
        import optuna
        from optuna.distributions import (
            BaseDistribution,
            CategoricalDistribution,
            FloatDistribution,
            IntDistribution,
        )
        from optuna.trial import TrialState
    except ImportError as error:
        raise missing_extra("optuna", "sweep", "method: bayes") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def space(parameter: Parameter) -> BaseDistribution:
        choices = parameter.choices
        if choices is None:
            return FloatDistribution(0.0, 1.0)
        if "values" in parameter.spec:
            return CategoricalDistribution(range(len(choices)))
        return IntDistribution(0, len(choices) - 1)

    searched = {p.name: space(p) for p in parameters if p.distribution != "constant"}
    states = {
        "finished": TrialState.COMPLETE,
        "stopped": TrialState.PRUNED,
        "failed": TrialState.FAIL,
        "running": TrialState.RUNNING,
    }

    def propose(number: int, trials: Sequence[Trial]) -> Trial:
        sampler = optuna.samplers.TPESampler(
            n_startup_trials=_STARTUP, seed=seed * 100_003 + number, constant_liar=True
        )
        study = optuna.create_study(sampler=sampler, direction=metric.goal)
        for trial in trials:
            study.add_trial(
                optuna.trial.create_trial(
                    state=states[trial.state],
                    params=dict(trial.places or {}),
                    distributions=searched,
                    value=trial.value if trial.state == "finished" else None,
                    intermediate_values=dict(enumerate(trial.history)),
                )
            )
        places: Mapping[str, float] = study.ask(searched).params
        return Trial(number, {p.name: _placed(p, places) for p in parameters}, dict(places))

    return propose


def _placed(parameter: Parameter, places: Mapping[str, float]) -> Any:
    if parameter.distribution == "constant":
        return parameter.spec["value"]
    place, choices = places[parameter.name], parameter.choices
    return parameter.at(place) if choices is None else choices[int(place)]
