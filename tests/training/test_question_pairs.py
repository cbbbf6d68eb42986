"""Joined training questions, on questions small enough to check by eye."""

import pytest

from rag_research.training.question_pairs import FORMS, question_pairs
from rag_research.training.selector_questions import TrainingQuestion
from rag_research.types import Passage


def _question(name: str, text: str, gold: int = 2) -> TrainingQuestion:
    titles = [f"{name} {part}" for part in ("Film", "Director", "Town", "Rival")]
    passages = tuple(Passage(title.lower(), title, f"About {title}.") for title in titles)
    ids = [passage.id for passage in passages]
    return TrainingQuestion(
        id=name,
        dataset="films",
        text=text,
        passages=passages,
        gold=tuple(ids[:gold]),
        hops={ids[0]: 0, ids[1]: 1},
        support={ids[1]: ((0, 5),)},
    )


ADA = _question("Ada", "Where was the director of Ada Film born?")
BEA = _question("Bea", "Bea Film was made by a director of which age? ")


def test_a_pair_needs_both_chains() -> None:
    (pair,) = question_pairs([ADA, BEA], 0.5, seed=0)
    first, second = (ADA, BEA) if pair.id == "Ada+Bea" else (BEA, ADA)
    assert pair.id == f"{first.id}+{second.id}" and pair.dataset == "films"
    assert pair.gold == (*first.gold, *second.gold)
    assert pair.passages == (*first.passages, *second.passages)
    assert pair.hops == {**ADA.hops, **BEA.hops}
    assert pair.support == {"ada director": ((0, 5),), "bea director": ((0, 5),)}


def test_wording() -> None:
    texts = {q.text for seed in range(40) for q in question_pairs([ADA, BEA], 0.5, seed)}
    ada, bea = ADA.text[:-1], "Bea Film was made by a director of which age"
    told = [(ada, bea), (bea, "w" + ada[1:])]  # a name keeps its capital
    assert texts == {form.format(*both) for form in FORMS for both in told}


def test_only_chains_are_joined() -> None:
    compared = _question("Cid", "Is Cid Film older than Cid Director?")
    longer = _question("Dot", "Who founded the town of the director of Dot Film?", gold=3)
    assert question_pairs([ADA, compared, longer], 1.0, seed=0) == []
    pairs = question_pairs([ADA, BEA, compared, longer], 5.0, seed=0)
    assert {pair.id for pair in pairs} == {"Ada+Bea", "Bea+Ada"}


def test_a_shared_passage_is_there_once() -> None:
    twin = TrainingQuestion("Ada2", "films", "Who?", ADA.passages, ADA.gold, ADA.hops, ADA.support)
    (pair,) = question_pairs([ADA, twin], 0.5, seed=0)
    assert pair.passages == ADA.passages and pair.gold == ADA.gold
    assert pair.support == ADA.support


@pytest.mark.parametrize("share", [0.0, 0.33, 1.0])
def test_the_choice_is_repeatable(share: float) -> None:
    questions = [_question(f"Q{n}", f"Who owns Q{n} Film?") for n in range(30)]
    pairs = question_pairs(questions, share, seed=3)
    assert pairs == question_pairs(questions[::-1], share, seed=3)
    assert len(pairs) <= round(30 * share) and len(pairs) >= 0.9 * round(30 * share)
    assert len({pair.id for pair in pairs}) == len(pairs)
    if share:
        assert pairs != question_pairs(questions, share, seed=4)
