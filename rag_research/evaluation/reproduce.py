"""``rag-research reproduce``: a finished run once more, and whether it comes out the same.

The configuration is the resolved one in ``results.json``, not the command line of then, and
replies come from its store. Predictions and figures must agree byte for byte; times may differ.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rag_research.config.build import build, to_dict
from rag_research.config.fingerprint import canonical_json
from rag_research.config.schema import ExperimentConfig
from rag_research.errors import ConfigError, DataError
from rag_research.evaluation.costs import calls_of
from rag_research.evaluation.results import FILE, Results
from rag_research.evaluation.runner import evaluate
from rag_research.evaluation.yaml_values import yaml_value
from rag_research.systems.assemble import Models
from rag_research.trace import plain

PREDICTIONS = "predictions.jsonl"
FAILURES = "failures.jsonl"
_COUNTS = ("questions", "asked", "answered", "failed", "partial")
_INPUTS = ("models", "prompts", "metric_versions")
_CONTEXT = ("code", "packages", "machine")


@dataclass(frozen=True, slots=True)
class Reproduction:
    """Two runs of one configuration.

    Args:
        original: the run that was there.
        again: the new one.
        outcome: what came out differently, one line each.
        inputs: what went in differently: configuration, data, models, prompts, metrics.
        context: what else differs: code, packages, machine.
        compared: what was compared and is the same.
        missing: files of the original that are gone, so that they were not compared.
    """

    original: Results
    again: Results
    outcome: Sequence[str]
    inputs: Sequence[str]
    context: Sequence[str]
    compared: Sequence[str]
    missing: Sequence[str] = ()

    @property
    def same(self) -> bool:
        """Whether the same inputs gave the same outcome."""
        return not self.outcome and not self.inputs

    def __str__(self) -> str:
        calls = calls_of(self.again)
        lines = [
            f"{self.original.directory} again in {self.again.directory}: {self.again.asked} "
            f"questions, {calls.asked} LLM calls, {calls.reused} of them from the store.",
            *(f"same     {line}" for line in self.compared),
            *(f"DIFFERS  {line}" for line in (*self.outcome, *self.inputs)),
            *(f"note     {file} is not beside {FILE}: not compared" for file in self.missing),
            *(f"note     {line}" for line in self.context),
            self._verdict(),
        ]
        return "\n".join(lines)

    def _verdict(self) -> str:
        if not self.same:
            return f"NOT REPRODUCED: {len(self.outcome) + len(self.inputs)} differences."
        if not self.missing:
            return "Reproduced: predictions and figures are the same, byte for byte."
        same = "only the figures" if PREDICTIONS in self.missing else "predictions and figures"
        return (
            f"Reproduced in part: {same} are known to be the same; "
            f"{' and '.join(self.missing)} could not be compared."
        )


def run_command(source: Path, settings: Sequence[str] = ()) -> int:
    """Reproduce a run and print the outcome.

    Args:
        source: a run's folder or its ``results.json``.
        settings: ``key=value`` with dotted keys of the resolved configuration.

    Returns:
        0 if it came out the same, else 1.

    Raises:
        RagResearchError: there is no such run, or it cannot be run again.
    """
    reproduction = reproduce(source, settings)
    print(reproduction)
    return int(not reproduction.same)


def reproduce(
    source: Path, settings: Sequence[str] = (), models: Models | None = None
) -> Reproduction:
    """Run a finished run again and compare.

    Args:
        source: a run's folder or its ``results.json``.
        settings: changes to the resolved configuration, such as ``run.store=FOLDER``.
        models: models that are there already.

    Raises:
        RagResearchError: there is no such run, or it cannot be run again.
    """
    folder = source.parent if source.name == FILE else source
    original = Results.load(folder)
    again = evaluate(resolved(original, settings), models)
    return compare_runs(original, again)


def resolved(original: Results, settings: Sequence[str] = ()) -> ExperimentConfig:
    """The configuration of a finished run, writing into a folder that is not there yet.

    Raises:
        ConfigError: a setting does not exist, or ``run.out`` holds a run.
        DataError: the results do not hold their configuration.
    """
    values = plain(original.provenance.get("config"))
    if not isinstance(values, dict):
        raise DataError(f"{original.directory / FILE} does not hold its configuration.")
    values["run"] = {**values.get("run", {}), "out": None, "dry_run": False}
    values["logger"] = {**values.get("logger", {}), "wandb": "disabled"}
    for setting in settings:
        _set(values, setting)
    config = build(ExperimentConfig, values)
    out = config.run.out or str(_free(original.directory.resolve()))
    if (Path(out) / FILE).exists():
        raise ConfigError(f"run.out: {out} holds a run. Name a folder that is not there yet.")
    return replace(config, run=replace(config.run, out=out))


def compare_runs(original: Results, again: Results) -> Reproduction:
    """What is the same and what is not.

    Args:
        original: a finished run.
        again: another one, meant to be equal.
    """
    checks = list(_checks(original, again))
    return Reproduction(
        original,
        again,
        outcome=[line for name, lines in checks for line in lines],
        inputs=[*_input_differences(original, again), *_facts(original, again, _INPUTS)],
        context=list(_facts(original, again, _CONTEXT)),
        compared=[name for name, lines in checks if not lines],
        missing=[
            file for file in (PREDICTIONS, FAILURES) if not (original.directory / file).is_file()
        ],
    )


def _checks(original: Results, again: Results) -> Iterator[tuple[str, list[str]]]:
    """Name of each thing compared, and its differences."""
    for file in (PREDICTIONS, FAILURES):
        before, after = (_lines(run, file) for run in (original, again))
        if before is None:
            continue  # named as missing
        pairs = itertools.zip_longest(before, after or ())
        places = [str(n) for n, (mine, theirs) in enumerate(pairs, 1) if mine != theirs]
        size = f"{file}, {len(before)} lines"
        more = ", ..." if len(places) > 5 else ""
        yield size, [f"{size}, in line {', '.join(places[:5])}{more}"] if places else []
    for name, figures in {
        "counts": lambda run: {key: getattr(run, key) for key in _COUNTS},
        "metrics": lambda run: plain(run.metrics),
        "means": lambda run: plain(run.means),
        "rounds": lambda run: plain(run.by_rounds),
        "tokens": _tokens,
    }.items():
        yield name, list(_differences(name, figures(original), figures(again)))


def _lines(run: Results, file: str) -> list[bytes] | None:
    """Of predictions as they are; of failures only which and why, since tracebacks hold paths."""
    path = run.directory / file
    if not path.is_file():
        return None
    lines = path.read_bytes().splitlines()
    if file == PREDICTIONS:
        return lines
    rows = [json.loads(line) for line in lines]
    return [canonical_json([row["id"], row["error"]]).encode() for row in rows]


def _tokens(run: Results) -> dict[str, Any]:
    return {
        stage: {
            purpose: {"calls": u.calls, "in": u.input_tokens, "out": u.output_tokens}
            for purpose, u in usage.items()
        }
        for stage, usage in (("index", run.index_usage), ("query", run.query_usage))
    }


def _input_differences(original: Results, again: Results) -> Iterator[str]:
    """Settings that count, and data by content: where it lies may have changed."""
    settings, data = [], []
    for run in (original, again):
        config = build(ExperimentConfig, run.provenance["config"])
        settings.append({**to_dict(config, with_inert=False), "dataset": None})
        facts = run.provenance["dataset"]
        data.append({key: v for key, v in facts.items() if key not in ("name", "config")})
    yield from _differences("config", *settings)
    yield from _differences("dataset", *data)


def _facts(original: Results, again: Results, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        before, after = (plain(run.provenance.get(name)) for run in (original, again))
        yield from _differences(name, before, after)


def _differences(where: str, before: Any, after: Any) -> Iterator[str]:
    """Leaves that differ, as ``where.key: before -> after``."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys([*before, *after]):
            yield from _differences(f"{where}.{key}", before.get(key), after.get(key))
    elif canonical_json(before) != canonical_json(after):
        yield f"{where}: {before} -> {after}"


def _free(folder: Path) -> Path:
    """The first folder beside ``folder`` that is not there yet."""
    names = itertools.chain([""], (f"-{number}" for number in itertools.count(2)))
    candidates = (folder.with_name(f"{folder.name}.reproduced{name}") for name in names)
    return next(path for path in candidates if not path.exists())


def _set(values: dict[str, Any], setting: str) -> None:
    key, equals, text = setting.partition("=")
    *path, last = key.split(".")
    value = yaml_value(key, text)
    inner: Any = values
    for name in path:
        inner = inner.setdefault(name, {}) if isinstance(inner, dict) else None
    if not equals or not isinstance(inner, dict):
        raise ConfigError(f"{setting}: expected a dotted key of the configuration and a value.")
    inner[last] = value
