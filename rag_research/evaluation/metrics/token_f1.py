"""Token F1, as SQuAD scores it."""

from __future__ import annotations

from collections import Counter

from rag_research.evaluation.metrics.metric import register_metric
from rag_research.text.normalise import normalise_answer
from rag_research.types import Answer, Question


@register_metric("token_f1", version=1)
def token_f1(answer: Answer, question: Question) -> float:
    """Harmonic mean of token precision and recall, the best over the gold answers.

    With common tokens counted with multiplicity, ``P = common / given``,
    ``R = common / gold``, ``F1 = 2 P R / (P + R)``; 0 without a common token.

    This is plain SQuAD F1 (Rajpurkar et al. 2016). HotpotQA's own script differs in one case:
    it gives 0 when either side is exactly ``yes``, ``no`` or ``noanswer`` and the two are not
    equal, where this gives ``yes it is`` against ``yes`` a part of the credit.
    """
    given = normalise_answer(answer.text).split()
    return max(_f1(given, normalise_answer(gold).split()) for gold in question.answers)


def _f1(given: list[str], gold: list[str]) -> float:
    if not given or not gold:  # SQuAD 2.0: nothing against nothing agrees
        return float(given == gold)
    common = sum((Counter(given) & Counter(gold)).values())
    return 2 * common / (len(given) + len(gold))
