"""Two training questions asked as one, whose answer needs both of their chains.

Most questions follow one chain. Among those of a data set that is new to the selector many compare
what two chains lead to, and a network that never saw two spends all ranks on the stronger one.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import TypeVar

from rag_research.graph.corpus_entities import folded_words, title_key
from rag_research.text.entities import capitalised_offsets
from rag_research.training.selector_questions import TrainingQuestion

T = TypeVar("T")
FORMS = ("{}, and {}?", "{}? And {}?", "{} or {}?")


def question_pairs(
    questions: Sequence[TrainingQuestion], share: float, seed: int
) -> list[TrainingQuestion]:
    """Join questions two at a time.

    Joined are questions with two gold passages of which they do not name both: a chain each.

    Args:
        questions: of one data set.
        share: pairs for one of them. No pair is made twice in one order, so there can be fewer.
        seed: of the choice, which does not depend on the order of the questions.

    Returns:
        Questions that have the gold passages, hops and supporting texts of both.
    """
    chains = sorted((q for q in questions if _is_chain(q)), key=lambda q: q.id)
    draw = random.Random(seed)
    pairs: dict[str, TrainingQuestion] = {}
    for _ in range(round(share * len(questions)) if len(chains) > 1 else 0):
        one, other = draw.sample(chains, 2)
        pair = _joined(one, other, draw.choice(FORMS))
        pairs[pair.id] = pair
    return list(pairs.values())


def _is_chain(question: TrainingQuestion) -> bool:
    asked = f" {_folded(question.text)} "
    titles = [title_key(p.title) for p in question.passages if p.id in question.gold]
    return len(titles) == 2 and not all(f" {title} " in asked for title in titles)


def _folded(text: str) -> str:
    return " ".join(word for word, _, _ in folded_words(text))


def _joined(one: TrainingQuestion, other: TrainingQuestion, form: str) -> TrainingQuestion:
    first, second = (q.text.strip().rstrip("?").rstrip() for q in (one, other))
    if not any(start == 0 for start, _ in capitalised_offsets(second)):
        second = second[:1].lower() + second[1:]
    both = (one, other)
    return TrainingQuestion(
        id=f"{one.id}+{other.id}",
        dataset=one.dataset,
        text=form.format(first, second),
        passages=tuple({p.id: p for q in both for p in q.passages}.values()),
        gold=_distinct(id for q in both for id in q.gold),
        hops={id: hop for q in both for id, hop in q.hops.items()},
        support={
            id: _distinct(place for q in both for place in q.support.get(id, ()))
            for id in _distinct(id for q in both for id in q.support)
        },
    )


def _distinct(items: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(items))
