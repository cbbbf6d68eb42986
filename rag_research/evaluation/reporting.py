"""From the outcomes of a run to its results and files."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rag_research.config.build import to_dict
from rag_research.config.fingerprint import fingerprint
from rag_research.config.schema import ExperimentConfig
from rag_research.corpus.dataset import Dataset
from rag_research.evaluation.asking import Outcomes
from rag_research.evaluation.comparable import asked_fingerprint
from rag_research.evaluation.records import (
    Failure,
    Record,
    cost_row,
    failure_row,
    prediction_row,
    write_lines,
)
from rag_research.evaluation.results import Results
from rag_research.evaluation.rounds import by_rounds
from rag_research.evaluation.scoring import Scores, means, score
from rag_research.runtime.provenance import Resources, peak_memory_mib, provenance
from rag_research.runtime.text_files import write_text
from rag_research.types import Question, Usage


@dataclass(frozen=True, slots=True)
class Run:
    """A run whose questions have been asked.

    Args:
        config: what was run.
        dataset: corpus and all its questions.
        questions: those asked for, in order.
        outcomes: what became of them.
        index_counts: sizes of the index.
        index_usage: cost of the index by purpose.
        models: identities of the models used.
        sent: calls that reached the model, by stage; all others came from the store.
        clock: readings at the start and after loading, indexing and asking.
        directory: where the files go.
    """

    config: ExperimentConfig
    dataset: Dataset
    questions: Sequence[Question]
    outcomes: Outcomes
    index_counts: Mapping[str, int]
    index_usage: Mapping[str, Usage]
    models: Mapping[str, Any]
    sent: Mapping[str, int]
    clock: Sequence[Resources]
    directory: Path

    @property
    def answered(self) -> list[tuple[Question, Record]]:
        """Questions with their records, in order."""
        records = self.outcomes.records
        return [(q, records[q.id]) for q in self.questions if q.id in records]

    @property
    def failed(self) -> list[tuple[Question, Failure]]:
        """Questions with their failures, in order."""
        failures = self.outcomes.failures
        return [(q, failures[q.id]) for q in self.questions if q.id in failures]


def report(run: Run) -> Results:
    """Score a run and write its files; ``results.json`` comes last and says "complete".

    Raises:
        RagResearchError: a metric failed; no file is written then.
    """
    config = run.config
    failed = [question for question, _ in run.failed]
    scores = score(run.answered, failed, config.evaluation, config.seed)
    records = [record for _, record in run.answered]
    results = Results(
        name=config.system.name,
        system=config.system.name,
        dataset=run.dataset.name,
        fingerprint=fingerprint(config),
        questions=len(run.questions),
        asked=len(records) + len(failed),
        answered=len(records),
        failed=len(failed),
        partial=run.outcomes.budget_error is not None,
        metrics=scores.intervals,
        means=means(records),
        index_usage=run.index_usage,
        query_usage=run.outcomes.usage(),
        seconds=_seconds(records),
        by_rounds=by_rounds(run.answered, scores.by_question),
        provenance={**provenance(), **_facts(run, scores)},
        directory=run.directory,
    )
    _write(run, scores)
    results.save()
    return results


def _write(run: Run, scores: Scores) -> None:
    out = run.directory
    out.mkdir(parents=True, exist_ok=True)
    ended: dict[str, Record | Failure] = {**run.outcomes.records, **run.outcomes.failures}
    traces = [ended[q.id].trace for q in run.questions if q.id in ended]
    rows = (prediction_row(q, r, scores.by_question[q.id]) for q, r in run.answered)
    write_text(out / "config.yaml", yaml.safe_dump(to_dict(run.config), sort_keys=False))
    write_lines(out / "predictions.jsonl", rows)
    write_lines(out / "costs.jsonl", (cost_row(q, r) for q, r in run.answered))
    write_lines(out / "failures.jsonl", (failure_row(q, f) for q, f in run.failed))
    write_lines(out / "traces.jsonl", (line for trace in traces for line in trace))


def _facts(run: Run, scores: Scores) -> dict[str, Any]:
    """What a result row must name besides code and machine."""
    config, dataset, budget_error = run.config, run.dataset, run.outcomes.budget_error
    prompts: dict[str, str] = {}
    for record in run.outcomes.records.values():
        prompts.update(record.prompts)
    stages = zip(("load", "index", "query"), run.clock, run.clock[1:], strict=False)
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
            "asked_fingerprint": asked_fingerprint(run.questions),
        },
        "index": dict(run.index_counts),
        "models": dict(run.models),
        "calls_sent": dict(run.sent),
        "prompts": dict(sorted(prompts.items())),
        "metric_versions": dict(scores.versions),
        "budget_error": str(budget_error) if budget_error else None,
        "resources": {
            **{stage: end.since(start) for stage, start, end in stages},
            "peak_memory_mib": peak_memory_mib(),
        },
    }


def _seconds(records: Sequence[Record]) -> dict[str, float]:
    if not records:
        return {}
    latencies = [record.seconds for record in records]
    return {
        "a_question": round(statistics.mean(record.share for record in records), 4),
        "latency_mean": round(statistics.mean(latencies), 4),
        "latency_median": round(statistics.median(latencies), 4),
    }
