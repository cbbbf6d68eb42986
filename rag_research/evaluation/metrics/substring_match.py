"""Substring exact match, the lenient EM of ToG-3."""

from __future__ import annotations

from rag_research.evaluation.metrics.metric import register_metric
from rag_research.text.normalise import normalise_answer
from rag_research.types import Answer, Question


@register_metric("substring_match", version=1)
def substring_match(answer: Answer, question: Question) -> float:
    """1 if a normalised gold answer is contained in the normalised answer, else 0.

    Long answers win by chance, so read it beside ``answer_length``. A gold answer that
    normalises to nothing (``"The"``) matches only an answer that also does.
    """
    given = normalise_answer(answer.text)
    golds = [normalise_answer(gold) for gold in question.answers]
    return float(any(gold in given if gold else not given for gold in golds))
