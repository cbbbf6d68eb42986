"""Seeded samples of questions, and small corpora around them."""

from __future__ import annotations

import random
from collections.abc import Sequence

from rag_research.corpus.corpus import Corpus
from rag_research.types import Passage, Question


def sample_questions(questions: Sequence[Question], count: int, seed: int) -> list[Question]:
    """``count`` questions drawn uniformly, in their original order; all when there are fewer."""
    ids = sorted(q.id for q in questions)
    chosen = set(random.Random(f"{seed}:questions").sample(ids, min(count, len(ids))))
    return [q for q in questions if q.id in chosen]


def gold_and_distractors(
    corpus: Corpus, questions: Sequence[Question], distractors: int, seed: int
) -> list[Passage]:
    """The gold passages of ``questions`` and, for each question, random other passages.

    A question's distractors depend on the seed, its id and the corpus ids alone, so adding
    another question never changes them. Random passages are much easier to tell from gold
    ones than the full corpus's near misses: figures over such a corpus compare systems, and
    say nothing about the published setting.

    Args:
        corpus: to draw from.
        questions: whose gold passages are kept.
        distractors: passages drawn for each question.
        seed: of the draw.

    Returns:
        The passages in corpus order.
    """
    ids = sorted(corpus.ids)
    kept = {id for question in questions for id in question.gold_passages}
    for question in questions:
        draw = random.Random(f"{seed}:{question.id}")
        kept.update(draw.sample(ids, min(distractors, len(ids))))
    return [passage for passage in corpus if passage.id in kept]
