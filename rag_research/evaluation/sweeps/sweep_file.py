"""Reading wandb's sweep files: https://docs.wandb.ai/guides/sweeps/define-sweep-configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml

from rag_research.config.build import build
from rag_research.config.compose import config_folder
from rag_research.errors import ConfigError, did_you_mean
from rag_research.evaluation.sweeps.hyperband import Hyperband
from rag_research.evaluation.sweeps.parameters import Parameter, read_parameters

Method = Literal["grid", "random", "bayes"]
COMMAND = ("${env}", "${interpreter}", "${program}", "${args}")
# Keys that say something to a server or to people, and nothing to a run on this machine.
_ELSEWHERE = ("apiVersion", "kind", "controller", "description", "entity", "project")
_ONLINE = ("job", "image_uri", "metrics", "scheduler")


@dataclass(frozen=True, slots=True)
class Metric:
    """What the trials are compared by.

    Args:
        name: of a figure that the program leaves, such as ``val/score``.
        goal: wandb's default is to minimise.
        target: a trial that reaches it ends the sweep.
    """

    name: str
    goal: Literal["minimize", "maximize"] = "minimize"
    target: float | None = None

    def better(self, value: float, than: float) -> bool:
        """Whether a value is nearer to the goal than another."""
        return value > than if self.goal == "maximize" else value < than


@dataclass(frozen=True, slots=True)
class Sweep:
    """A sweep file.

    Args:
        name: of the file, or the one it gives itself.
        method: how trials are proposed.
        parameters: in the order of the file.
        program: script that a trial runs; ``None`` if ``command`` names it itself.
        command: words with wandb's macros.
        metric: ``None`` where the file names none; only ``bayes`` and early stop need one.
        early_stop: ``None`` lets every trial run to its end.
        run_cap: most trials.
        content: the file as read, for a server.
    """

    name: str
    method: Method
    parameters: Sequence[Parameter]
    program: str | None = None
    command: Sequence[str] = COMMAND
    metric: Metric | None = None
    early_stop: Hyperband | None = None
    run_cap: int | None = None
    content: Mapping[str, Any] = field(default_factory=dict)


def find_sweep(name: str) -> Path:
    """The file at this path, or the one of this name in ``configs/sweep``.

    Raises:
        ConfigError: there is neither.
    """
    path = Path(name)
    if path.is_file():
        return path
    folder = config_folder() / "sweep"
    if (shipped := folder / f"{name}.yaml").is_file():
        return shipped
    known = sorted(file.stem for file in folder.glob("*.yaml"))
    raise ConfigError(
        f"There is no sweep file {name!r}.{did_you_mean(name, known)} Give the path of a YAML "
        f"file, or one of: {', '.join(known)}."
    )


def read_sweep(path: Path) -> Sweep:
    """Read and check a sweep file.

    Raises:
        ConfigError: a key or value that wandb does not know, or that only a server can follow.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not a YAML file: {error}") from error
    if not isinstance(content, Mapping):
        raise ConfigError(f"{path}: expected a mapping with method and parameters.")
    _check_keys(content, path)
    method = content.get("method")
    if method not in ("grid", "random", "bayes"):
        raise ConfigError(f"{path}: method: got {method!r}, expected grid, random or bayes.")
    metric = None
    if "metric" in content:
        ours = {key: value for key, value in content["metric"].items() if "impute" not in key}
        metric = build(Metric, ours, f"{path}: metric")
    if metric is None and (method == "bayes" or "early_terminate" in content):
        raise ConfigError(f"{path}: metric: {method} or early_terminate needs it; it is missing.")
    cap = content.get("run_cap")
    if cap is not None and (not isinstance(cap, int) or cap < 1):
        raise ConfigError(f"{path}: run_cap: expected a whole number from 1, got {cap!r}.")
    return Sweep(
        name=str(content.get("name", path.stem)),
        method=method,
        parameters=read_parameters(content.get("parameters"), f"{path}: parameters"),
        program=content.get("program"),
        command=_command(content, path),
        metric=metric,
        early_stop=_early_stop(content, path),
        run_cap=cap,
        content=content,
    )


def _check_keys(content: Mapping[str, Any], path: Path) -> None:
    ours = ("program", "method", "metric", "parameters", "early_terminate", "run_cap", "command")
    known = [*ours, "name", *_ELSEWHERE]
    for key in content:
        if key in _ONLINE:
            raise ConfigError(
                f"{path}: {key}: only a wandb server can follow this key. Leave it out, or "
                "register the file there: --register."
            )
        if key not in known:
            raise ConfigError(
                f"{path}: wandb's sweep files have no key {key!r}.{did_you_mean(str(key), known)} "
                f"Known: {', '.join(known)}."
            )


def _command(content: Mapping[str, Any], path: Path) -> Sequence[str]:
    words = content.get("command", COMMAND)
    if not isinstance(words, (list, tuple)) or not words:
        raise ConfigError(f"{path}: command: expected a list of words, got {words!r}.")
    if "${program}" in words and not content.get("program"):
        raise ConfigError(f"{path}: program: the command runs it; it is missing.")
    return [str(word) for word in words]


def _early_stop(content: Mapping[str, Any], path: Path) -> Hyperband | None:
    if "early_terminate" not in content:
        return None
    entry = dict(content["early_terminate"])
    kind = entry.pop("type", None)
    if kind != "hyperband":
        raise ConfigError(f"{path}: early_terminate.type: got {kind!r}, expected hyperband.")
    return build(Hyperband, entry, f"{path}: early_terminate")
