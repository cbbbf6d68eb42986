"""What a command line asks to evaluate: one system or several that share their models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rag_research.config.compose import compose_experiment
from rag_research.config.schema import ExperimentConfig
from rag_research.evaluation.results import Results
from rag_research.evaluation.runner import evaluate
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.systems.assemble import load_models


def experiments(arguments: Sequence[str]) -> list[ExperimentConfig]:
    """The configurations that ``arguments`` describe, one a system.

    Args:
        arguments: ``key=value`` overrides, each with or without leading dashes;
            ``system=a,b`` asks for two runs that differ in nothing else. With several systems
            each writes into its own folder below ``run.out``.

    Raises:
        ConfigError: a key or value that cannot be used.
    """
    plain = [argument.lstrip("-") for argument in arguments]
    several = [a for a in plain if a.startswith("system=") and "," in a]
    if not several:
        return [compose_experiment(plain)]
    rest = [a for a in plain if a not in several]
    systems = [name for name in several[-1].removeprefix("system=").split(",") if name]
    configs = []
    for name in dict.fromkeys(systems):
        config = compose_experiment([*rest, f"system={name}"])
        if config.run.out is not None:
            config = replace(config, run=replace(config.run, out=str(Path(config.run.out) / name)))
        configs.append(config)
    return configs


def evaluate_all(configs: Sequence[ExperimentConfig]) -> list[Results]:
    """Run configurations one after the other; models are loaded once, the budget is one.

    Args:
        configs: with equal ``llm``, ``encoder``, ``budget`` and ``run.store``.

    Raises:
        RagResearchError: as :func:`~rag_research.evaluation.runner.evaluate`. Finished runs
            are kept, so the same command goes on where this one ended.
    """
    models = load_models(configs[0], ArtifactStore(configs[0].run.store))
    return [evaluate(config, models) for config in configs]
