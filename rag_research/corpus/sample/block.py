"""Blocks: small closed sets of entities and facts, each made from the seed and its number.

Because a block refers to nothing outside itself, a world of any size is a sequence of blocks
and needs the memory of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from rag_research.corpus.sample.names import root
from rag_research.corpus.sample.templates import given_names, kinds

ENTITIES = (
    ["region"]
    + 2 * ["river"]
    + 4 * ["town"]
    + 12 * ["person"]
    + 2 * ["company"]
    + 2 * ["bridge"]
    + 2 * ["book"]
    + 2 * ["film"]
    + ["college", "museum", "painting", "band", "song", "festival"]
)
SIZE = len(ENTITIES)
ROOTS = SIZE + 1  # one more for the mountain, which has no article

JOBS = 2 * ["a merchant"] + 2 * ["an engineer"] + 2 * ["a novelist"] + 2 * ["a film director"]
JOBS += ["a botanist", "a painter", "a singer", "a schoolteacher"]
ADULT = 24  # years; nobody's work is dated earlier


@dataclass(frozen=True, slots=True)
class Entity:
    """A thing with an article of its own.

    Args:
        kind: a key of :func:`kinds`.
        name: unique in the world, as is.
        pronoun: ``she``, ``he`` or ``it``.
        job: of a person.
    """

    kind: str
    name: str
    pronoun: str = "it"
    job: str = ""

    @property
    def phrase(self) -> str:
        """The name as it stands inside a sentence."""
        return kinds()[self.kind].form.format(n=self.name)


@dataclass(frozen=True, slots=True)
class Fact:
    """One stated fact; ``object`` is plain text where it has no article."""

    subject: Entity
    relation: str
    object: Entity | str

    @property
    def object_name(self) -> str:
        return self.object.name if isinstance(self.object, Entity) else self.object


@dataclass(frozen=True, slots=True)
class Block:
    """Entities in a fixed order and the facts of each, by the subject's name."""

    number: int
    entities: tuple[Entity, ...]
    facts: Mapping[str, tuple[Fact, ...]]


def make_block(number: int, seed: int) -> Block:
    """The block with this number.

    Args:
        number: from 0.
        seed: of the world.
    """
    draw = Random(f"{seed}:block:{number}")
    words = [root(number * ROOTS + i, seed) for i in range(ROOTS)]
    entities = _entities(draw, words)
    writer = _Writer(draw, entities)
    writer.land(f"Mount {words[-1]}")
    writer.people()
    writer.works()
    writer.houses()
    facts = {name: tuple(own) for name, own in writer.facts.items()}
    return Block(number, tuple(entities), facts)


def _entities(draw: Random, words: list[str]) -> list[Entity]:
    found = []
    jobs = iter(JOBS)
    given = draw.sample(given_names(), len(JOBS))
    for kind, word in zip(ENTITIES, words, strict=False):
        pattern = draw.choice(kinds()[kind].names)
        if kind == "person":
            pronoun, name = given.pop()
            person = pattern.format(given=name, root=word)
            found.append(Entity(kind, person, pronoun, next(jobs)))
        else:
            found.append(Entity(kind, pattern.format(root=word)))
    return found


class _Writer:
    """Decides the facts of one block; every one-to-one relation stays one-to-one."""

    def __init__(self, draw: Random, entities: list[Entity]) -> None:
        self.draw = draw
        self.of: dict[str, list[Entity]] = {}
        for entity in entities:
            self.of.setdefault(entity.kind, []).append(entity)
        self.facts: dict[str, list[Fact]] = {entity.name: [] for entity in entities}
        self.born: dict[Entity, int] = {}

    def state(self, subject: Entity, **objects: Entity | str | int) -> None:
        for relation, value in objects.items():
            plain = str(value) if isinstance(value, int) else value
            self.facts[subject.name].append(Fact(subject, relation, plain))

    def land(self, mountain: str) -> None:
        draw, towns, rivers = self.draw, self.of["town"], self.of["river"]
        region = self.of["region"][0]
        size = f"{draw.randrange(1200, 9900, 10):,} square kilometres"
        self.state(region, capital=draw.choice(towns), size=size)
        for river, length in zip(rivers, draw.sample(range(40, 700), 2), strict=True):
            self.state(river, rises_on=mountain, length=f"{length} kilometres")
        hundreds = draw.sample(range(20, 990), len(towns))
        for i, (town, count) in enumerate(zip(towns, hundreds, strict=True)):
            population = f"{count * 100:,}"
            self.state(town, lies_on=rivers[i % 2], region=region, population=population)

    def people(self) -> None:
        people, draw = self.of["person"], self.draw
        years = draw.sample(range(1840, 1905), len(people))
        self.born = dict(zip(people, years, strict=True))
        for i, person in enumerate(people):
            self.state(person, born_in=draw.choice(self.of["town"]), born_year=self.born[person])
            elders = [p for p in people if 8 <= self.born[person] - self.born[p] <= 50]
            if i % 2 and elders:
                self.state(person, pupil_of=draw.choice(elders))
            elif person.job != "a botanist":  # who establishes the college
                self.state(person, educated_at=self.of["college"][0])

    def works(self) -> None:
        draw, people = self.draw, self.of["person"]
        towns = draw.sample(self.of["town"], 4)
        builders = draw.sample(self.of["company"], 2)
        founded: dict[Entity, int] = {}
        for i, company in enumerate(self.of["company"]):
            founded[company] = self._year(people[i])
            self.state(company, founded_by=people[i], based_in=towns[i])
            self.state(company, founded_in=founded[company])
        for i, bridge in enumerate(self.of["bridge"]):
            engineer, builder = people[2 + i], builders[i]
            self.state(bridge, crosses=self.of["river"][i], built_by=builder)
            year = self._year(engineer, after=founded[builder])
            self.state(bridge, designed_by=engineer, opened_in=year)
        for i, (book, film) in enumerate(zip(self.of["book"], self.of["film"], strict=True)):
            author, director = people[4 + i], people[6 + i]
            published = self._year(author)
            self.state(book, written_by=author, set_in=towns[2 + i], published_in=published)
            released = self._year(director, after=max(published, 1915))
            self.state(film, directed_by=director, based_on=book, released_in=released)

    def houses(self) -> None:
        draw, people, towns = self.draw, self.of["person"], self.of["town"]
        college, museum, painting, band, song, festival = (
            self.of[kind][0] for kind in ENTITIES[-6:]
        )
        botanist, painter, singer = people[8:11]
        self.state(college, established_by=botanist, located_in=draw.choice(towns))
        self.state(museum, located_in=draw.choice(towns), opened_in=draw.randrange(1850, 1980))
        self.state(painting, painted_by=painter, hangs_in=museum)
        self.state(band, formed_in=draw.choice(towns), singer=singer)
        self.state(song, performed_by=band, released_in=self._year(singer, after=1920))
        self.state(festival, held_in=draw.choice(towns), first_held=draw.randrange(1840, 1990))

    def _year(self, person: Entity, after: int = 0) -> int:
        return max(self.born[person] + ADULT, after) + self.draw.randrange(1, 16)
