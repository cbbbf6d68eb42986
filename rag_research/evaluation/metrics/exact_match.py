"""Strict exact match, as SQuAD and HotpotQA score it."""

from __future__ import annotations

from rag_research.evaluation.metrics.metric import register_metric
from rag_research.text.normalise import normalise_answer
from rag_research.types import Answer, Question


@register_metric("exact_match", version=1)
def exact_match(answer: Answer, question: Question) -> float:
    """1 if the normalised answer equals a normalised gold answer, else 0.

    Normalisation lowers the case, drops punctuation and the articles a, an, the, and joins
    white space (Rajpurkar et al. 2016, SQuAD). An answer that normalises to nothing is wrong
    unless a gold answer also does.
    """
    given = normalise_answer(answer.text)
    return float(any(given == normalise_answer(gold) for gold in question.answers))
