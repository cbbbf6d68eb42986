"""Answer metrics on cases worked out by hand, and against a second F1."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_research.config.schema import EvaluationConfig
from rag_research.errors import UnknownNameError
from rag_research.evaluation.metrics import columns
from rag_research.evaluation.metrics.answer_length import answer_length
from rag_research.evaluation.metrics.exact_match import exact_match
from rag_research.evaluation.metrics.substring_match import substring_match
from rag_research.evaluation.metrics.token_f1 import token_f1
from rag_research.text.normalise import normalise_answer
from rag_research.types import Answer, Question


def ask(*golds: str) -> Question:
    return Question("q", "?", answers=golds)


# given, golds, EM, substring EM, F1
CASES = [
    ("Denver Broncos", ("Denver Broncos",), 1, 1, 1),
    ("the  denver BRONCOS.", ("Denver Broncos",), 1, 1, 1),
    ("Broncos", ("Denver Broncos",), 0, 0, 2 / 3),  # P 1, R 1/2
    ("It was the Denver Broncos", ("Denver Broncos",), 0, 1, 2 * 2 / (4 + 2)),  # P 2/4, R 1
    ("Panthers", ("Denver Broncos",), 0, 0, 0),
    ("", ("Denver Broncos",), 0, 0, 0),
    ("the", ("Denver Broncos",), 0, 0, 0),  # normalises to nothing
    ("1969", ("July 20, 1969", "1969"), 1, 1, 1),  # the best gold counts
    ("new york new york", ("New York",), 0, 1, 2 * 2 / (4 + 2)),  # multiplicity
    ("Saint-Denis", ("SaintDenis",), 1, 1, 1),  # punctuation goes, nothing is put there
    ("yes", ("yes",), 1, 1, 1),
    ("no", ("yes",), 0, 0, 0),
    ("yes it is", ("yes",), 0, 1, 2 / 4),  # plain SQuAD F1; HotpotQA's script gives 0
    ("東京", ("東京",), 1, 1, 1),
    ("الرباط", ("الرباط",), 1, 1, 1),
    ("The", ("A",), 1, 1, 1),  # SQuAD: both normalise to nothing
    ("Paris", ("The",), 0, 0, 0),  # an empty gold is not in every answer
]


@pytest.mark.parametrize(("text", "golds", "em", "substring", "f1"), CASES)
def test_published_rules_by_hand(
    text: str, golds: tuple[str, ...], em: float, substring: float, f1: float
) -> None:
    answer, question = Answer(text), ask(*golds)
    assert exact_match(answer, question) == em
    assert substring_match(answer, question) == substring
    assert token_f1(answer, question) == pytest.approx(f1)


def test_without_gold_answers_nothing_is_scored() -> None:
    assert exact_match(Answer("x"), ask()) is None
    assert substring_match(Answer("x"), ask()) is None
    assert token_f1(Answer("x"), ask()) is None
    assert answer_length(Answer("x"), ask()) == 1.0


def test_length_counts_words_as_given() -> None:
    assert answer_length(Answer("  It is  the Nile. "), ask("Nile")) == 4.0
    assert answer_length(Answer(""), ask("Nile")) == 0.0


def by_the_formula(text: str, gold: str) -> float:
    """F1 from precision and recall, as the papers write it."""
    given, wanted = normalise_answer(text).split(), normalise_answer(gold).split()
    if not given or not wanted:
        return float(given == wanted)
    counts, same = Counter(wanted), 0
    for token in given:
        if counts[token] > 0:
            counts[token] -= 1
            same += 1
    if same == 0:
        return 0.0
    precision, recall = same / len(given), same / len(wanted)
    return 2 * precision * recall / (precision + recall)


TOKENS = ("a", "the", "Nile,", "nile", "River", "river.", "1", "2", "é", "川")
WORDS = st.lists(st.sampled_from(TOKENS), max_size=6)


@given(WORDS, st.lists(WORDS, min_size=1, max_size=3))
def test_f1_against_the_formula_and_bounds(words: list[str], golds: list[list[str]]) -> None:
    text, answers = " ".join(words), [" ".join(gold) for gold in golds]
    f1 = token_f1(Answer(text), ask(*answers))
    assert f1 == pytest.approx(max(by_the_formula(text, gold) for gold in answers))
    em = exact_match(Answer(text), ask(*answers))
    substring = substring_match(Answer(text), ask(*answers))
    assert em is not None and substring is not None and f1 is not None
    assert em <= substring
    assert em <= f1 <= 1.0


def test_a_misspelt_metric_is_named_with_a_suggestion() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'token_f1'"):
        columns(EvaluationConfig(metrics=("token_f",)))
