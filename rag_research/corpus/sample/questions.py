"""Questions over one block: chains of facts that cross passages, and comparisons.

A chain starts at the only entity the question names and follows facts forwards (from the
article's subject) or, where a relation is one-to-one, backwards. The noun phrase of each hop
is put into that of the next, so no later entity is named.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from rag_research.corpus.sample.block import Block, Entity, Fact
from rag_research.corpus.sample.templates import Relation, kinds

CHAIN_TYPES = ("bridge", "composition", "three_hop")
TYPES = ("comparison", *CHAIN_TYPES)
MAX_HOPS = 3


@dataclass(frozen=True, slots=True)
class Draft:
    """A question before its passages have ids.

    Args:
        type: one of ``TYPES``.
        text: as asked.
        answer: the name or number asked for.
        facts: the evidence in reasoning order; its last object is the answer of a chain.
    """

    type: str
    text: str
    answer: Entity | str
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class _Hop:
    fact: Fact
    forward: bool

    @property
    def end(self) -> Entity | str:
        return self.fact.object if self.forward else self.fact.subject

    @property
    def relation(self) -> Relation:
        return kinds()[self.fact.subject.kind].facts[self.fact.relation]


def drafts(block: Block, seed: int, count: int) -> dict[str, list[Draft]]:
    """Questions the block allows, by type, in a seeded order.

    Args:
        block: whose facts are asked about.
        seed: of the world; chooses questions, order and wording.
        count: at most this many of each type.
    """
    draw = Random(f"{seed}:questions:{block.number}")
    chains: dict[str, list[tuple[_Hop, ...]]] = {type: [] for type in CHAIN_TYPES}
    for chain in _chains(block):
        if _type(chain) in chains and not _shortcut(block, chain):
            chains[_type(chain)].append(chain)
    found = {}
    for type, of_type in chains.items():
        chosen = draw.sample(of_type, min(count, len(of_type)))
        found[type] = [_ask(chain, draw) for chain in chosen]
    comparisons = list(_comparisons(block, draw))
    found["comparison"] = draw.sample(comparisons, min(count, len(comparisons)))
    return found


def _chains(block: Block) -> Iterator[tuple[_Hop, ...]]:
    """Chains of two or three hops over different entities that end forwards."""
    leaving: dict[str, list[_Hop]] = {entity.name: [] for entity in block.entities}
    for facts in block.facts.values():
        for fact in facts:
            leaving[fact.subject.name].append(_Hop(fact, True))
            hop = _Hop(fact, False)
            if isinstance(fact.object, Entity) and hop.relation.inverse_phrase:
                leaving[fact.object.name].append(hop)

    def extend(chain: tuple[_Hop, ...], seen: tuple[str, ...]) -> Iterator[tuple[_Hop, ...]]:
        if len(chain) >= 2 and chain[-1].forward and chain[-1].relation.ask:
            yield chain
        at = chain[-1].end
        if len(chain) == MAX_HOPS or not isinstance(at, Entity):
            return
        before = chain[-1].relation
        if not (before.phrase if chain[-1].forward else before.inverse_phrase):
            return
        for hop in leaving[at.name]:
            name = hop.end.name if isinstance(hop.end, Entity) else hop.end
            if name not in seen:
                yield from extend((*chain, hop), (*seen, name))

    for entity in block.entities:
        for hop in leaving[entity.name]:
            if isinstance(hop.end, Entity):
                yield from extend((hop,), (entity.name, hop.end.name))


def _type(chain: Sequence[_Hop]) -> str:
    passages = {hop.fact.subject.name for hop in chain}
    if len(passages) == 3:
        return "three_hop"
    if len(passages) == 2:
        return "composition" if all(hop.forward for hop in chain) else "bridge"
    return "single"


def _shortcut(block: Block, chain: Sequence[_Hop]) -> bool:
    """Whether an earlier passage of the chain already states the answer."""
    answer = chain[-1].fact.object_name
    last = chain[-1].fact.subject.name
    earlier = {hop.fact.subject.name for hop in chain} - {last}
    return any(fact.object_name == answer for name in earlier for fact in block.facts[name])


def _ask(chain: Sequence[_Hop], draw: Random) -> Draft:
    first = chain[0]
    start = first.fact.subject if first.forward else first.fact.object
    assert isinstance(start, Entity)
    phrase = start.phrase
    for hop in chain[:-1]:
        choices = hop.relation.phrase if hop.forward else hop.relation.inverse_phrase
        phrase = draw.choice(choices).format(x=phrase)
    text = draw.choice(chain[-1].relation.ask).format(x=phrase)
    return Draft(_type(chain), text, chain[-1].end, tuple(hop.fact for hop in chain))


def _comparisons(block: Block, draw: Random) -> Iterator[Draft]:
    for kind, entry in kinds().items():
        entities = [entity for entity in block.entities if entity.kind == kind]
        for name, relation in entry.facts.items():
            if relation.compare is None:
                continue
            facts = [f for e in entities for f in block.facts[e.name] if f.relation == name]
            draw.shuffle(facts)
            for one, other in itertools.pairwise(facts):
                values = _number(one), _number(other)
                if values[0] == values[1]:
                    continue
                pick = min if relation.compare.pick == "min" else max
                winner = (one, other)[values.index(pick(values))]
                text = draw.choice(relation.compare.ask)
                text = text.format(a=one.subject.phrase, b=other.subject.phrase)
                yield Draft("comparison", text, winner.subject, (one, other))


def _number(fact: Fact) -> int:
    return int(re.sub(r"\D", "", fact.object_name))
