"""Evaluate one configuration: index, ask every question, score, write the run's files.

A run's directory holds ``config.yaml``, ``predictions.jsonl``, ``costs.jsonl``,
``traces.jsonl``, ``failures.jsonl``, ``results.json`` and, under ``questions/``, the log of
finished questions that lets the same command go on after a kill. All files but the log are
written from the log at the end, so an interrupted run ends with the files of an uninterrupted
one.
"""

from __future__ import annotations

import asyncio
import random
import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from rag_research.config.build import to_dict
from rag_research.config.fingerprint import fingerprint
from rag_research.config.schema import ExperimentConfig
from rag_research.corpus.dataset import Dataset
from rag_research.errors import ConfigError
from rag_research.evaluation.asking import Outcomes, ask
from rag_research.evaluation.records import (
    Record,
    cost_row,
    failure_row,
    prediction_row,
    write_lines,
    write_text,
)
from rag_research.evaluation.results import Results
from rag_research.evaluation.scoring import Scores, add_usage, means, score
from rag_research.evaluation.wandb_log import log_run
from rag_research.llm.traced import TracedLLM
from rag_research.prompts.library import PromptLibrary
from rag_research.registry import DATASETS
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.runtime.provenance import peak_memory_mib, provenance, resources
from rag_research.runtime.seeding import seed_everything
from rag_research.systems.assemble import Models, OnDemandEncoder, build_parts, build_system
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
    seed_everything(config.seed)
    readings = [resources()]
    dataset: Dataset = DATASETS.get(config.dataset.name)(config.dataset).load()
    questions = choose_questions(dataset.questions, config)
    store = ArtifactStore(config.run.store)
    parts = build_parts(config, store, models)
    readings.append(resources())
    index, index_usage = build_index(config, parts, dataset, store)
    readings.append(resources())
    directory = run_directory(config, dataset)
    inputs = question_inputs(config, parts, dataset)
    log = ArtifactStore(directory).items(STAGE, VERSION, inputs)
    system = build_system(config, parts)
    outcomes = asyncio.run(ask(system, index, questions, log, config.run.concurrency))
    readings.append(resources())
    answered = [(q, outcomes.records[q.id]) for q in questions if q.id in outcomes.records]
    failed = [q for q in questions if q.id in outcomes.failures]
    scores = score(answered, failed, config.evaluation, config.seed)
    spans = zip(("load", "index", "query"), readings, readings[1:], strict=False)
    results = Results(
        name=config.system.name,
        system=config.system.name,
        dataset=dataset.name,
        fingerprint=fingerprint(config),
        questions=len(questions),
        asked=len(answered) + len(failed),
        answered=len(answered),
        failed=len(failed),
        partial=outcomes.budget_error is not None,
        metrics=scores.intervals,
        means=means([record for _, record in answered]),
        index_usage=index_usage,
        query_usage=add_usage(
            done.usage for done in [*outcomes.records.values(), *outcomes.failures.values()]
        ),
        seconds=_seconds([record for _, record in answered]),
        provenance={
            **provenance(),
            **run_facts(config, dataset, inputs, index, outcomes, scores),
            "resources": {
                **{stage: end.since(start) for stage, start, end in spans},
                "peak_memory_mib": peak_memory_mib(),
            },
        },
        directory=directory,
    )
    write_run(results, config, questions, outcomes, scores)
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
    """``run.out``, or ``results/<system>-<dataset>-<fingerprint>``."""
    name = f"{config.system.name}-{dataset.name}-{fingerprint(config)}"
    return Path(config.run.out or Path("results") / name)


def build_index(
    config: ExperimentConfig, parts: Parts, dataset: Dataset, store: ArtifactStore
) -> tuple[Index, dict[str, Usage]]:
    """Index the corpus and say what that costs, work found in the store included."""
    trace = Trace("index")
    metered = replace(parts, llm=TracedLLM(parts.llm, trace))
    index = build_system(config, metered).index(dataset.corpus, store)
    return index, dict(sorted((index.usage or trace.usage).items()))


def question_inputs(config: ExperimentConfig, parts: Parts, dataset: Dataset) -> dict[str, Any]:
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
        "prompts": {name: prompts[name].fingerprint for name in prompts.names()},
    }


def run_facts(
    config: ExperimentConfig,
    dataset: Dataset,
    inputs: dict[str, Any],
    index: Index,
    outcomes: Outcomes,
    scores: Scores,
) -> dict[str, Any]:
    """What a result row must name besides code and machine."""
    prompts: dict[str, str] = {}
    for record in outcomes.records.values():
        prompts.update(record.prompts)
    return {
        "config": to_dict(config),
        "config_fingerprint": fingerprint(config),
        "seed": config.seed,
        "dataset": {
            "name": dataset.name,
            "config": to_dict(config.dataset),
            "passages": len(dataset.corpus),
            "corpus_fingerprint": dataset.corpus.fingerprint,
            "questions": len(dataset.questions),
            "questions_fingerprint": fingerprint(
                [[q.id, q.text, q.answers, q.gold_passages] for q in dataset.questions]
            ),
        },
        "index": dict(index.counts),
        "models": {"llm": inputs["llm_identity"], "encoder": inputs["encoder_identity"]},
        "prompts": dict(sorted(prompts.items())),
        "metric_versions": dict(scores.versions),
        "budget_error": str(outcomes.budget_error) if outcomes.budget_error else None,
    }


def write_run(
    results: Results,
    config: ExperimentConfig,
    questions: Sequence[Question],
    outcomes: Outcomes,
    scores: Scores,
) -> None:
    """Write the files of a run; ``results.json`` last, so its presence says "complete"."""
    out = results.directory
    out.mkdir(parents=True, exist_ok=True)
    answered = [(q, outcomes.records[q.id]) for q in questions if q.id in outcomes.records]
    failed = [(q, outcomes.failures[q.id]) for q in questions if q.id in outcomes.failures]
    ended = {**outcomes.records, **outcomes.failures}
    write_text(out / "config.yaml", yaml.safe_dump(to_dict(config), sort_keys=False))
    write_lines(
        out / "predictions.jsonl",
        (prediction_row(q, record, scores.by_question[q.id]) for q, record in answered),
    )
    write_lines(out / "costs.jsonl", (cost_row(q, record) for q, record in answered))
    write_lines(out / "failures.jsonl", (failure_row(q, failure) for q, failure in failed))
    write_lines(
        out / "traces.jsonl",
        (line for q in questions if q.id in ended for line in ended[q.id].trace),
    )
    results.save()


def _seconds(records: Sequence[Record]) -> dict[str, float]:
    if not records:
        return {}
    each = [record.seconds for record in records]
    return {"mean": round(statistics.mean(each), 4), "median": round(statistics.median(each), 4)}
