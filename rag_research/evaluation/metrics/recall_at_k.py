"""Passage recall at k of the evidence an answer came with."""

from __future__ import annotations

from rag_research.evaluation.metrics.metric import register_metric
from rag_research.evaluation.retrieval import recall_at_k as ranked_recall
from rag_research.types import Answer, Question


@register_metric("recall_at_k", version=1, needs="gold_passages")
def recall_at_k(answer: Answer, question: Question, k: int) -> float | None:
    """Share of the gold passages among the first k pieces of evidence.

    ``None`` for an answer that took no retrieval round (a closed-book answer); a system that
    looked and found nothing gets 0.
    """
    if not answer.rounds and not answer.evidence:
        return None
    return ranked_recall([hit.id for hit in answer.evidence], question.gold_passages, k)
