"""Answer length, to be read beside the lenient metrics."""

from __future__ import annotations

from rag_research.evaluation.metrics.metric import register_metric
from rag_research.types import Answer, Question


@register_metric("answer_length", version=1, needs="", wrong=None)
def answer_length(answer: Answer, question: Question) -> float:
    """Words of the answer as given (split at white space); failed questions have none."""
    return float(len(answer.text.split()))
