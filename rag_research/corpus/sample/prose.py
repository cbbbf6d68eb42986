"""Articles of a block: the facts of one entity in sentences, with some that state none."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from random import Random

from rag_research.corpus.sample.block import Block, Entity
from rag_research.corpus.sample.templates import kinds
from rag_research.types import Passage, Triplet

FILLERS = 2
SOURCE = "sample world"


def articles(block: Block, seed: int) -> list[tuple[Passage, list[Triplet]]]:
    """One passage an entity, in the block's order, with the triplets its text states.

    Args:
        block: what to write about.
        seed: of the world; chooses the wording.
    """
    of: dict[str, list[Entity]] = {}
    for entity in block.entities:
        of.setdefault(entity.kind, []).append(entity)
    return [_article(block, entity, of, seed) for entity in block.entities]


def passage_id(title: str, text: str) -> str:
    """Sixteen hex digits over the content, so that ids tell nothing about neighbours."""
    return hashlib.sha256(f"{title}\n{text}".encode()).hexdigest()[:16]


def _article(
    block: Block, entity: Entity, of: Mapping[str, Sequence[Entity]], seed: int
) -> tuple[Passage, list[Triplet]]:
    draw = Random(f"{seed}:article:{entity.name}")
    kind = kinds()[entity.kind]
    first, *others = block.facts[entity.name]
    words = {
        "S": _capital(entity.phrase),
        "s": entity.phrase,
        "They": entity.pronoun.capitalize(),
        "they": entity.pronoun,
        "job": entity.job,
    }
    opening = draw.choice(kind.openings).format(**words, **{first.relation: _phrase(first.object)})
    rest = []
    for fact in others:
        phrase = _phrase(fact.object)
        sentence = draw.choice(kind.facts[fact.relation].sentences)
        rest.append(sentence.format(**words, o=phrase, O=_capital(phrase)))
    mentions = {name: draw.choice(entities).phrase for name, entities in of.items()}
    for filler in draw.sample(kind.fillers, FILLERS):
        rest.append(filler.format(**words, **mentions))
    draw.shuffle(rest)
    text = " ".join([_capital(opening), *rest])
    triplets = [
        Triplet(entity.name, kind.facts[fact.relation].predicate, fact.object_name)
        for fact in (first, *others)
    ]
    return Passage(passage_id(entity.name, text), entity.name, text, SOURCE), triplets


def _phrase(value: Entity | str) -> str:
    return value.phrase if isinstance(value, Entity) else value


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
