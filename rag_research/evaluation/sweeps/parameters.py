"""The parameters of a sweep file: what each may be, and its value at a quantile."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from rag_research.errors import ConfigError, did_you_mean

Spec = Mapping[str, Any]
_EDGE = 1e-12  # quantiles 0 and 1 of a normal distribution are infinite
_PLACES = 12  # significant digits of a drawn number: 0.1 * 3 is told as 0.3

_BOUNDS = ("min", "max")
_SHAPE = ("mu", "sigma")
# Keys that a distribution needs, and keys it may have; all are wandb's.
_KEYS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "constant": (("value",), ()),
    "categorical": (("values",), ()),
    "categorical_w_probabilities": (("values", "probabilities"), ()),
    "int_uniform": (_BOUNDS, ()),
    "uniform": (_BOUNDS, ()),
    "log_uniform": (_BOUNDS, ()),
    "log_uniform_values": (_BOUNDS, ()),
    "inv_log_uniform": (_BOUNDS, ()),
    "inv_log_uniform_values": (_BOUNDS, ()),
    "q_uniform": (_BOUNDS, ("q",)),
    "q_log_uniform": (_BOUNDS, ("q",)),
    "q_log_uniform_values": (_BOUNDS, ("q",)),
    "normal": ((), _SHAPE),
    "log_normal": ((), _SHAPE),
    "q_normal": ((), (*_SHAPE, "q")),
    "q_log_normal": ((), (*_SHAPE, "q")),
    "beta": ((), ("a", "b")),
    "q_beta": ((), ("a", "b", "q")),
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a sweep.

    Args:
        name: dotted, as the program takes it.
        distribution: wandb's name of it; ``constant`` and ``categorical`` included.
        spec: the rest of its entry in the file.
    """

    name: str
    distribution: str
    spec: Spec

    @property
    def choices(self) -> Sequence[Any] | None:
        """All values in order, or ``None`` where there are too many to list."""
        if self.distribution == "constant":
            return [self.spec["value"]]
        if "values" in self.spec:
            return list(self.spec["values"])
        low, high = self.spec.get("min", 0), self.spec.get("max", 0)
        if self.distribution == "int_uniform":
            return list(range(low, high + 1))
        if self.distribution == "q_uniform":
            step = self.spec.get("q", 1)
            steps = range(round(low / step), round(high / step) + 1)
            return [_tidy(n * step, step) for n in steps]
        return None

    def at(self, quantile: float) -> Any:
        """The value below which this share of all draws lies.

        Args:
            quantile: in [0, 1].
        """
        if "probabilities" in self.spec:
            shares = list(itertools.accumulate(self.spec["probabilities"]))
            values = zip(shares, self.spec["values"], strict=True)
            return next((v for share, v in values if quantile < share), self.spec["values"][-1])
        if self.distribution != "q_uniform" and (choices := self.choices) is not None:
            return choices[min(int(quantile * len(choices)), len(choices) - 1)]
        family = self.distribution.removeprefix("q_")
        value = _QUANTILES[family](min(max(quantile, _EDGE), 1 - _EDGE), self.spec)
        if not self.distribution.startswith("q_"):
            return _tidy(value)
        step = self.spec.get("q", 1)
        return _tidy(round(value / step) * step, step)


def read_parameters(entries: Any, where: str) -> list[Parameter]:
    """The parameters of a file, nested ones flattened with dots, in the order of the file.

    Args:
        entries: the mapping below ``parameters``.
        where: position, for messages.

    Raises:
        ConfigError: an entry is none of wandb's forms.
    """
    return list(_flatten(entries, where, ""))


def _flatten(entries: Any, where: str, prefix: str) -> Iterator[Parameter]:
    if not isinstance(entries, Mapping) or not entries:
        raise ConfigError(f"{where}: expected a mapping of parameters, got {entries!r}.")
    for key, entry in entries.items():
        here, name = f"{where}.{key}", f"{prefix}{key}"
        if isinstance(entry, Mapping) and set(entry) == {"parameters"}:
            yield from _flatten(entry["parameters"], here, f"{name}.")
        else:
            yield _parameter(name, entry, here)


def _parameter(name: str, entry: Any, where: str) -> Parameter:
    if not isinstance(entry, Mapping):
        raise ConfigError(
            f"{where}: got {entry!r}, expected a mapping with value, values, min and max, or a "
            "distribution."
        )
    kind = str(entry.get("distribution") or _implied(entry, where))
    if kind == "categorical" and "probabilities" in entry:
        kind = "categorical_w_probabilities"
    if kind not in _KEYS:
        raise ConfigError(
            f"{where}: there is no distribution {kind!r}.{did_you_mean(kind, _KEYS)} "
            f"Known: {', '.join(_KEYS)}."
        )
    needed, allowed = _KEYS[kind]
    spec = {key: value for key, value in entry.items() if key != "distribution"}
    if missing := [key for key in needed if key not in spec]:
        raise ConfigError(f"{where}: {kind} needs the key {missing[0]!r}; it is missing.")
    if unknown := [key for key in spec if key not in (*needed, *allowed)]:
        known = ", ".join((*needed, *allowed))
        raise ConfigError(f"{where}: {kind} has no key {unknown[0]!r}. Known: {known}.")
    _check(kind, spec, where)
    return Parameter(name, kind, spec)


def _implied(entry: Spec, where: str) -> str:
    """The distribution that wandb takes an entry without one for."""
    if "value" in entry:
        return "constant"
    if "values" in entry:
        return "categorical"
    if "min" in entry and "max" in entry:
        whole = all(isinstance(entry[key], int) for key in _BOUNDS)
        return "int_uniform" if whole else "uniform"
    raise ConfigError(
        f"{where}: got {dict(entry)!r}, expected value, values, min and max, or a distribution."
    )


def _check(kind: str, spec: Spec, where: str) -> None:
    """Refuse what would fail, or mean nothing, when it is drawn from."""
    numbers = [key for key in spec if key not in ("value", "values", "probabilities")]
    for key in numbers:
        number = spec[key]
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise ConfigError(f"{where}.{key}: expected a number, got {number!r}.")
    if "min" in spec and spec["min"] > spec["max"]:
        raise ConfigError(f"{where}: min {spec['min']} is larger than max {spec['max']}.")
    if kind == "int_uniform" and not all(isinstance(spec[key], int) for key in _BOUNDS):
        raise ConfigError(f"{where}: int_uniform needs whole numbers as min and max.")
    if kind.endswith("log_uniform_values") and spec["min"] <= 0:
        raise ConfigError(f"{where}: {kind} needs min > 0, got {spec['min']}.")
    if spec.get("q", 1) <= 0 or spec.get("sigma", 1) <= 0:
        raise ConfigError(f"{where}: q and sigma must be larger than 0.")
    if "values" in spec and (not isinstance(spec["values"], list) or not spec["values"]):
        raise ConfigError(f"{where}.values: expected a list with at least one value.")
    if "probabilities" in spec:
        shares = spec["probabilities"]
        if len(shares) != len(spec["values"]) or not math.isclose(sum(shares), 1, abs_tol=1e-6):
            raise ConfigError(
                f"{where}.probabilities: got {shares}, expected one for each value, summing to 1."
            )


def _uniform(quantile: float, low: float, high: float) -> float:
    return low + (high - low) * quantile


def _normal(quantile: float, spec: Spec) -> float:
    return NormalDist(spec.get("mu", 0), spec.get("sigma", 1)).inv_cdf(quantile)


def _beta(quantile: float, spec: Spec) -> float:
    from scipy.stats import beta

    return float(beta.ppf(quantile, spec.get("a", 1), spec.get("b", 1)))


def _log_values(quantile: float, spec: Spec) -> float:
    return math.exp(_uniform(quantile, math.log(spec["min"]), math.log(spec["max"])))


def _inverse(quantile: float, low: float, high: float) -> float:
    """The inverse of the value is log-uniform."""
    return math.exp(-_uniform(1 - quantile, low, high))


_QUANTILES: Mapping[str, Callable[[float, Spec], float]] = {
    "uniform": lambda u, spec: _uniform(u, spec["min"], spec["max"]),
    "log_uniform": lambda u, spec: math.exp(_uniform(u, spec["min"], spec["max"])),
    "log_uniform_values": _log_values,
    "inv_log_uniform": lambda u, spec: _inverse(u, spec["min"], spec["max"]),
    "inv_log_uniform_values": lambda u, spec: _inverse(
        u, -math.log(spec["max"]), -math.log(spec["min"])
    ),
    "normal": _normal,
    "log_normal": lambda u, spec: math.exp(_normal(u, spec)),
    "beta": _beta,
}


def _tidy(value: float, step: float | None = None) -> float | int:
    """A number without the noise of its last digits; whole where the step is whole."""
    if isinstance(step, int):
        return round(value)
    return float(f"{value:.{_PLACES}g}")
