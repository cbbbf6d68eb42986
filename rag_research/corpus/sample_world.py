"""The sample world: an invented country to try, test and load-test with. CC0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rag_research.corpus.assemble import assemble
from rag_research.corpus.dataset import Dataset
from rag_research.corpus.sample.world import World
from rag_research.types import Triplet


@dataclass(frozen=True, slots=True)
class SampleWorldConfig:
    """How large a world.

    Args:
        passages: how many; the hand-written ones come first, generated ones fill up. A larger
            world holds every passage of a smaller one of the same seed.
        questions: how many; a small world may not have that many.
        seed: of every choice.
    """

    name: str = "sample_world"
    passages: int = 200
    questions: int = 48
    seed: int = 0

    def __post_init__(self) -> None:
        if self.passages < World.smallest():
            raise ValueError(
                f"passages must be at least {World.smallest()} (the hand-written articles and "
                f"one generated block), got {self.passages}."
            )
        if self.questions < 0:
            raise ValueError(f"questions must not be negative, got {self.questions}.")


class SampleWorld:
    """Loader of the sample world, which is made in memory; nothing is read but the package.

    Questions are of the types ``bridge``, ``comparison``, ``composition`` and ``three_hop``.
    Each names one entity (two, in a comparison); the others have to be found. Evidence holds
    the gold triplets in reasoning order.
    """

    Config = SampleWorldConfig

    def __init__(self, config: SampleWorldConfig) -> None:
        self.config = config
        self.world = World(config.passages, config.seed)

    def load(self) -> Dataset:
        """Make the world; passages are sorted by id, which is a hash of their content."""
        passages = sorted((passage for passage, _ in self.world.articles()), key=lambda p: p.id)
        questions = self.world.questions(self.config.questions)
        return assemble(self.config.name, passages, questions, "sample world")

    def gold_triplets(self) -> Mapping[str, list[Triplet]]:
        """Passage id -> the triplets its text states, for indexes without an LLM."""
        return {passage.id: triplets for passage, triplets in self.world.articles()}
