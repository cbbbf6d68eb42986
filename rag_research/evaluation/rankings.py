"""Retrievers compared by themselves: how often the gold passages stand at the top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_research.config.schema import ExperimentConfig
from rag_research.corpus.dataset import Dataset
from rag_research.embed.base import Encoder
from rag_research.errors import DataError
from rag_research.evaluation.retrieval import full_chain, recall_at_k
from rag_research.evaluation.runner import choose_questions
from rag_research.evaluation.statistics import Interval, bootstrap_interval
from rag_research.index.base import Retriever
from rag_research.index.bm25 import build_bm25
from rag_research.index.dense import build_dense
from rag_research.index.hybrid import Hybrid
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.types import Question


@dataclass(frozen=True, slots=True)
class RetrievalScores:
    """One retriever on one data set.

    Args:
        retriever: its name.
        metrics: ``recall@k`` and ``full_chain@k`` as shares, with 95 % bootstrap intervals.
    """

    retriever: str
    metrics: Mapping[str, Interval]


def passage_retrievers(
    dataset: Dataset, dense: Any, encoder: Encoder, store: ArtifactStore
) -> dict[str, Retriever]:
    """BM25, dense and hybrid (min-max, equal weights) retrieval over a data set's passages.

    Args:
        dataset: whose corpus is indexed.
        dense: configuration of an entry of ``DENSE_INDEXES``.
        encoder: of passages and questions.
        store: where indexes and vectors are kept.
    """
    ids = dataset.corpus.ids
    texts = [passage.contents for passage in dataset.corpus]
    lexical = build_bm25("passages", ids, texts, store)
    vectors = build_dense(dense, "passages", ids, texts, encoder, store)
    return {"bm25": lexical, "dense": vectors, "hybrid": Hybrid([lexical, vectors])}


def choose_gold_questions(
    questions: Sequence[Question], config: ExperimentConfig
) -> list[Question]:
    """Those with gold passages: shuffled by the seed if asked, then limited, as in a run.

    Raises:
        DataError: no question has gold passages.
    """
    asked = [question for question in questions if question.gold_passages]
    if not asked:
        raise DataError("No question names gold passages, so retrieval cannot be scored.")
    return choose_questions(asked, config)


def score_retrievers(
    retrievers: Mapping[str, Retriever],
    questions: Sequence[Question],
    recall_at: Sequence[int] = (2, 5),
    samples: int = 1000,
    seed: int = 0,
) -> list[RetrievalScores]:
    """Search with each question's text and look where its gold passages are.

    Args:
        retrievers: by name.
        questions: those without gold passages are left out.
        recall_at: cut-offs.
        samples: bootstrap resamples.
        seed: of the bootstrap.

    Raises:
        DataError: no question has gold passages.
    """
    asked = [question for question in questions if question.gold_passages]
    if not asked:
        raise DataError("No question names gold passages, so retrieval cannot be scored.")
    return [
        RetrievalScores(name, _metrics(retriever, asked, recall_at, samples, seed))
        for name, retriever in retrievers.items()
    ]


def retrieval_table(dataset: Dataset, scores: Sequence[RetrievalScores]) -> str:
    """A markdown table in percent, ± half the 95 % interval.

    Args:
        dataset: named in the first line.
        scores: rows; at least one.
    """
    names = list(scores[0].metrics)
    asked = scores[0].metrics[names[0]].n
    lines = [
        f"{dataset.name}: {len(dataset.corpus)} passages, {asked} questions with gold passages",
        f"| retriever | {' | '.join(names)} |",
        f"|---|{'---:|' * len(names)}",
    ]
    for row in scores:
        cells = [f"{100 * i.mean:.1f} ±{100 * i.half_width:.1f}" for i in row.metrics.values()]
        lines.append(f"| {row.retriever} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _metrics(
    retriever: Retriever,
    questions: Sequence[Question],
    recall_at: Sequence[int],
    samples: int,
    seed: int,
) -> dict[str, Interval]:
    found = retriever.search([q.text for q in questions], max(recall_at))
    ranked = [[hit.id for hit in hits] for hits in found]
    metrics = {}
    for name, measure in (("recall", recall_at_k), ("full_chain", full_chain)):
        for k in recall_at:
            values = [
                measure(ids, question.gold_passages, k)
                for ids, question in zip(ranked, questions, strict=True)
            ]
            metrics[f"{name}@{k}"] = bootstrap_interval(values, samples, seed)
    return metrics
