"""Evaluate one configuration: index, ask every question, score, write the run's files.

A run's directory holds ``config.yaml``, ``predictions.jsonl``, ``costs.jsonl``,
``traces.jsonl``, ``failures.jsonl``, ``results.json``, ``summary.json`` and, under
``questions/``, the log of finished questions that lets the same command go on after a kill. All
files but the log are written from the log at the end, so an interrupted run ends with the files
of an uninterrupted one.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rag_research.config.build import to_dict
from rag_research.config.fingerprint import fingerprint
from rag_research.config.schema import ExperimentConfig
from rag_research.corpus.dataset import Dataset
from rag_research.errors import ConfigError
from rag_research.evaluation.asking import ask
from rag_research.evaluation.metrics import columns
from rag_research.evaluation.reporting import Run, report
from rag_research.evaluation.results import Results
from rag_research.evaluation.wandb_log import log_run, scalars
from rag_research.llm.traced import TracedLLM
from rag_research.prompts.library import PromptLibrary
from rag_research.registry import DATASETS
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.runtime.checkpoints import checkpoint_hashes
from rag_research.runtime.figures import write_summary
from rag_research.runtime.loops import run_async
from rag_research.runtime.provenance import resources
from rag_research.runtime.seeding import seed_everything
from rag_research.systems.assemble import (
    Models,
    OnDemandEncoder,
    build_parts,
    build_system,
    load_models,
)
from rag_research.systems.base import Index, Parts
from rag_research.trace import Trace
from rag_research.types import Question, Usage

STAGE = "questions"
VERSION = 1


def evaluate(config: ExperimentConfig, models: Models | None = None) -> Results:
    """Run one configuration from its data to its results.

    Args:
        config: what to run.
        models: models shared with other runs of the same command.

    Raises:
        RagResearchError: data, configuration or models cannot be used, a metric fails, or the
            budget ends while indexing. A failing question does not raise; it is counted.
    """
    columns(config.evaluation)  # a metric that is none, before anything is paid for
    seed_everything(config.seed)
    clock = [resources()]
    dataset: Dataset = DATASETS.get(config.dataset.name)(config.dataset).load()
    questions = choose_questions(dataset.questions, config)
    store = ArtifactStore(config.run.store)
    models = models or load_models(config, store)
    parts = build_parts(config, store, models)
    clock.append(resources())
    sent = [models.budget.started]
    index, index_usage = build_index(config, parts, dataset, store)
    sent.append(models.budget.started)
    clock.append(resources())
    directory = run_directory(config, dataset)
    inputs = question_inputs(config, parts, dataset, index)
    log = ArtifactStore(directory).items(STAGE, VERSION, inputs)
    system = build_system(config, parts)
    backend, concurrency = models.backend, config.run.concurrency
    asking = ask(system, index, questions, log, concurrency, lambda: backend.load_seconds)
    outcomes = run_async(asking)
    clock.append(resources())
    run = Run(
        config=config,
        dataset=dataset,
        questions=questions,
        outcomes=outcomes,
        index_counts=index.counts,
        index_usage=index_usage,
        models={"llm": inputs["llm_identity"], "encoder": inputs["encoder_identity"]},
        sent={"index": sent[1] - sent[0], "query": models.budget.started - sent[1]},
        clock=clock,
        directory=directory,
    )
    results = report(run)
    write_summary(directory, scalars(results))
    log_run(results, config)
    return results


def choose_questions(questions: Sequence[Question], config: ExperimentConfig) -> list[Question]:
    """The questions of a run: shuffled by the seed if asked, then limited.

    Raises:
        ConfigError: there is no question, or two share an id.
    """
    chosen = list(questions)
    if config.shuffle:
        random.Random(config.seed).shuffle(chosen)
    chosen = chosen[: config.limit]
    if not chosen:
        raise ConfigError(
            f"There is no question to ask: the data set has {len(questions)}, limit is "
            f"{config.limit}. Name a data set with questions, or raise limit."
        )
    ids = [q.id for q in chosen]
    if len(set(ids)) < len(ids):
        twice = next(id for id in ids if ids.count(id) > 1)
        raise ConfigError(f"Two questions share the id {twice!r}. Ids must be unique: rename one.")
    return chosen


def run_directory(config: ExperimentConfig, dataset: Dataset) -> Path:
    """``run.out``, or ``runs/<system>-<dataset>-<fingerprint>``."""
    name = f"{config.system.name}-{dataset.name}-{fingerprint(config)}"
    return Path(config.run.out or Path("runs") / name)


def build_index(
    config: ExperimentConfig, parts: Parts, dataset: Dataset, store: ArtifactStore
) -> tuple[Index, dict[str, Usage]]:
    """Index the corpus and say what that costs, work found in the store included."""
    trace = Trace("index")
    metered = replace(parts, llm=TracedLLM(parts.llm, trace))
    index = build_system(config, metered).index(dataset.corpus, store)
    return index, dict(sorted((index.usage or trace.usage).items()))


def question_inputs(
    config: ExperimentConfig, parts: Parts, dataset: Dataset, index: Index
) -> dict[str, Any]:
    """What an answer depends on besides the question: keys the log of finished questions."""
    prompts = PromptLibrary(config.prompts)
    encoder = parts.encoder
    unused = isinstance(encoder, OnDemandEncoder) and not encoder.used
    return {
        "system": config.system,
        "llm": config.llm,
        "llm_identity": dict(parts.llm.identity),
        "encoder": config.encoder,
        "encoder_identity": None if unused else dict(encoder.identity),
        "dense": config.dense,
        "reranker": config.reranker,
        "seed": config.seed,
        "corpus": dataset.corpus.fingerprint,
        "index": index.contents,
        "checkpoints": checkpoint_hashes(to_dict(config.system)),
        "prompts": {name: prompts[name].fingerprint for name in prompts.names()},
    }
