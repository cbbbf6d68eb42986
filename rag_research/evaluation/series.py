"""Runs of one command that share models and a store; finished ones are loaded, not run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rag_research.config.fingerprint import fingerprint
from rag_research.config.schema import ExperimentConfig
from rag_research.corpus.dataset import Dataset
from rag_research.errors import DataError
from rag_research.evaluation.comparable import asked_fingerprint
from rag_research.evaluation.compare import metric_of
from rag_research.evaluation.results import FILE, Results
from rag_research.evaluation.runner import choose_questions, evaluate
from rag_research.prompts.library import PromptLibrary
from rag_research.registry import DATASETS
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.systems.assemble import Models, load_models


def load_dataset(config: ExperimentConfig) -> Dataset:
    """The data set of a configuration."""
    dataset: Dataset = DATASETS.get(config.dataset.name)(config.dataset).load()
    return dataset


def run_series(
    configs: Mapping[str, ExperimentConfig], dataset: Dataset, models: Models | None = None
) -> Iterator[Results]:
    """Run configurations on one data set one after the other; each needs its own ``run.out``.

    A run that is in its folder already, of the same configuration, data, prompts and metric
    versions and without failed questions, is loaded instead. The series ends with the first
    run that the budget ended early.

    Args:
        configs: name -> configuration, with equal ``dataset``, ``llm``, ``encoder``,
            ``budget`` and ``run.store``.
        dataset: what they load.
        models: models that are there already.

    Yields:
        The results of each run under its name, as it ends.

    Raises:
        RagResearchError: as :func:`~rag_research.evaluation.runner.evaluate`.
    """
    first = next(iter(configs.values()))
    models = models or load_models(first, ArtifactStore(first.run.store))
    for name, config in configs.items():
        results = finished(config, dataset) or evaluate(config, models)
        yield replace(results, name=name)
        if results.partial:
            return


def finished(config: ExperimentConfig, dataset: Dataset) -> Results | None:
    """The results in ``run.out``, if running ``config`` again could not change them.

    Args:
        config: what would be run.
        dataset: what it would be run on.
    """
    folder = Path(str(config.run.out))
    if not (folder / FILE).is_file():
        return None
    try:
        results = Results.load(folder)
    except DataError:  # written by another version: run again over it
        return None
    data = results.provenance.get("dataset", {})
    versions = results.provenance.get("metric_versions", {})
    library = PromptLibrary(config.prompts)
    used = results.provenance.get("prompts", {})
    same = (
        results.fingerprint == fingerprint(config)
        and data.get("corpus_fingerprint") == dataset.corpus.fingerprint
        and data.get("asked_fingerprint")
        == asked_fingerprint(choose_questions(dataset.questions, config))
        and set(used) <= set(library.names())
        and all(library[name].fingerprint == wording for name, wording in used.items())
        and all(metric_of(name).version == version for name, version in versions.items())
    )
    return results if same and not results.partial and not results.failed else None


def code_note(runs: Sequence[Results]) -> list[str]:
    """A warning when runs were made by different code, else nothing."""
    by_code: dict[str, list[str]] = {}
    for run in runs:
        code = run.provenance.get("code", {})
        by_code.setdefault(str(code.get("commit"))[:12], []).append(run.name)
    if len(by_code) < 2:
        return []
    told = "; ".join(f"{commit} {', '.join(names)}" for commit, names in by_code.items())
    return [f"CODE DIFFERS: the runs were made at different commits: {told}."]


def not_run_note(waiting: str) -> str:
    """That runs are missing, and how to get them."""
    return f"NOT RUN: {waiting}. The same command goes on there."
