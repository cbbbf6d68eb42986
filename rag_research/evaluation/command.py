"""What a command line asks to evaluate: one system or several that share their models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rag_research.config.compose import compose_experiment
from rag_research.config.schema import ExperimentConfig
from rag_research.evaluation.comparable import under_distinct_names
from rag_research.evaluation.compare import comparison
from rag_research.evaluation.dry_run import estimate
from rag_research.evaluation.results import Results
from rag_research.evaluation.runner import evaluate
from rag_research.evaluation.table import table
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


def run_command(arguments: Sequence[str]) -> int:
    """Run what ``arguments`` ask for and print the table or, for a dry run, the estimates.

    If a run ends in an error, the table of the runs before it is printed first.

    Args:
        arguments: as for :func:`experiments`.

    Returns:
        0, or 1 if a question failed or the budget ran out.

    Raises:
        RagResearchError: the settings or a run cannot be used.
    """
    configs = experiments(arguments)
    if configs[0].run.dry_run:
        print("\n\n".join(str(estimate(config)) for config in configs))
        return 0
    results: list[Results] = []
    try:
        results.extend(evaluate_all(configs))
    finally:
        if results:
            results = under_distinct_names(results)
            print("\n\n".join(filter(None, (table(results), comparison(results)))))
    return int(any(result.failed or result.partial for result in results))


def evaluate_all(configs: Sequence[ExperimentConfig]) -> Iterator[Results]:
    """Run configurations one after the other; models are loaded once, the budget is one.

    Args:
        configs: with equal ``llm``, ``encoder``, ``budget`` and ``run.store``.

    Yields:
        The results of each run as it ends, so those before an error are not lost.

    Raises:
        RagResearchError: as :func:`~rag_research.evaluation.runner.evaluate`. Finished runs
            are kept, so the same command goes on where this one ended.
    """
    models = load_models(configs[0], ArtifactStore(configs[0].run.store))
    for config in configs:
        yield evaluate(config, models)
