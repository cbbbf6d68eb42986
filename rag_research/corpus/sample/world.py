"""A world of any size: hand-written articles, then blocks, streamed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

from rag_research.corpus.sample.block import SIZE, Block, Entity, make_block
from rag_research.corpus.sample.prose import SOURCE, articles, passage_id
from rag_research.corpus.sample.questions import TYPES, Draft, drafts
from rag_research.corpus.sample.templates import kinds
from rag_research.types import Passage, Question, Triplet


class World:
    """The same seed gives the same bytes, and a larger world begins with the smaller one.

    Args:
        passages: how many; at least ``World.smallest()``.
        seed: of every choice.
    """

    def __init__(self, passages: int, seed: int) -> None:
        self.size = passages
        self.seed = seed

    @staticmethod
    def smallest() -> int:
        """Hand-written articles and one whole block."""
        return len(_rows("articles.jsonl")) + SIZE

    def articles(self) -> Iterator[tuple[Passage, list[Triplet]]]:
        """Passages with the triplets they state, one block in memory at a time.

        The order is that of the blocks, so related passages are near each other: shuffle, or
        sort by id, before anything could learn from the order.
        """
        written = 0
        for passage, triplets in hand_written():
            yield passage, triplets
            written += 1
        number = 0
        while written < self.size:
            for article in articles(make_block(number, self.seed), self.seed):
                if written < self.size:
                    yield article
                    written += 1
            number += 1

    def questions(self, count: int) -> list[Question]:
        """The hand-written questions, then generated ones, types in turn.

        Args:
            count: how many. Fewer come back when the world is too small for them.
        """
        found = hand_written_questions()[:count]
        blocks = (self.size - len(_rows("articles.jsonl"))) // SIZE
        wanted = count - len(found)
        for number in range(min(blocks, wanted)):
            share = wanted // min(blocks, wanted) + (number < wanted % min(blocks, wanted))
            found += _block_questions(make_block(number, self.seed), self.seed, share)
        return found


def hand_written() -> list[tuple[Passage, list[Triplet]]]:
    """The articles that ship as text."""
    found = []
    for row in _rows("articles.jsonl"):
        id = passage_id(row["title"], row["text"])
        passage = Passage(id, row["title"], row["text"], SOURCE)
        found.append((passage, [Triplet(*slots) for slots in row["triplets"]]))
    return found


def hand_written_questions() -> list[Question]:
    """The questions over :func:`hand_written`; gold passages are named by title there."""
    ids = {passage.title: passage.id for passage, _ in hand_written()}
    return [
        Question(
            id=f"written-{number:02d}",
            text=row["question"],
            answers=tuple(row["answers"]),
            type=row["type"],
            gold_passages=tuple(ids[title] for title in row["gold"]),
            evidence=tuple(Triplet(*slots) for slots in row["evidence"]),
        )
        for number, row in enumerate(_rows("questions.jsonl"), 1)
    ]


def _block_questions(block: Block, seed: int, count: int) -> list[Question]:
    """Up to ``count`` questions with different texts, types in turn."""
    made = articles(block, seed)
    ids = {passage.title: passage.id for passage, _ in made}
    pools = drafts(block, seed, count)
    found: list[Question] = []
    texts: set[str] = set()
    turn = block.number
    while len(found) < count and any(pools.values()):
        pool = pools[TYPES[turn % len(TYPES)]]
        turn += 1
        while pool:
            draft = pool.pop()
            if draft.text not in texts:
                texts.add(draft.text)
                found.append(_question(draft, f"b{block.number}-{len(found) + 1:02d}", ids))
                break
    return found


def _question(draft: Draft, id: str, ids: Mapping[str, str]) -> Question:
    subjects = dict.fromkeys(fact.subject.name for fact in draft.facts)
    evidence = tuple(
        Triplet(
            fact.subject.name,
            kinds()[fact.subject.kind].facts[fact.relation].predicate,
            fact.object_name,
        )
        for fact in draft.facts
    )
    gold = tuple(ids[name] for name in subjects)
    return Question(id, draft.text, _answers(draft.answer), draft.type, gold, evidence)


def _answers(answer: Entity | str) -> tuple[str, ...]:
    if isinstance(answer, str):
        return (answer,)
    names = [answer.name, answer.phrase.replace('"', "")]
    if answer.kind == "person":
        names.append(answer.name.split()[-1])
    if answer.kind == "river":
        names.append(answer.name.removesuffix(" River"))
    return tuple(dict.fromkeys(names))


def _rows(name: str) -> list[dict[str, Any]]:
    text = files("rag_research.corpus.sample").joinpath(name).read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]
