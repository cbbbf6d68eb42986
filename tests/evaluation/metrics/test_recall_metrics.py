"""Recall of evidence: cut-offs, order, and answers that never retrieved."""

from __future__ import annotations

import pytest

from rag_research.config.schema import EvaluationConfig
from rag_research.evaluation.metrics import columns
from rag_research.types import Answer, Hit, Question

QUESTION = Question("q", "?", ("x",), gold_passages=("a", "c"))
FOUND = Answer("x", tuple(Hit(id, 1.0) for id in "abcd"), rounds=1)


@pytest.mark.parametrize(("k", "recall", "chain"), [(1, 0.5, 0), (2, 0.5, 0), (3, 1, 1), (9, 1, 1)])
def test_recall_and_full_chain_by_hand(k: int, recall: float, chain: float) -> None:
    found = {c.key: c.value(FOUND, QUESTION) for c in columns(EvaluationConfig((), (k,)))}
    assert found == {f"recall@{k}": recall, f"full_chain@{k}": chain}


def test_who_looked_and_found_nothing_has_recall_zero_and_who_never_looked_has_none() -> None:
    recall, chain = columns(EvaluationConfig((), (5,)))
    assert recall.value(Answer("x", rounds=1), QUESTION) == 0.0
    assert chain.value(Answer("x", rounds=1), QUESTION) == 0.0
    assert recall.value(Answer("x"), QUESTION) is None
    assert chain.value(Answer("x"), QUESTION) is None


def test_questions_without_gold_passages_have_no_recall() -> None:
    [recall, _] = columns(EvaluationConfig((), (5,)))
    assert recall.value(FOUND, Question("q", "?")) is None
