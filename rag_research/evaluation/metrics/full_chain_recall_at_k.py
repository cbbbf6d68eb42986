"""Full-chain recall at k of the evidence an answer came with."""

from __future__ import annotations

from rag_research.evaluation.metrics.metric import register_metric
from rag_research.evaluation.retrieval import full_chain
from rag_research.types import Answer, Question


@register_metric("full_chain_recall_at_k", version=1, needs="gold_passages")
def full_chain_recall_at_k(answer: Answer, question: Question, k: int) -> float | None:
    """1 if every gold passage is among the first k pieces of evidence, else 0.

    ``None`` for an answer that took no retrieval round (a closed-book answer).
    """
    if not answer.rounds and not answer.evidence:
        return None
    return full_chain([hit.id for hit in answer.evidence], question.gold_passages, k)
