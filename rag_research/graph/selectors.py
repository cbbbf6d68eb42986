"""Which spans are kept after diffusion; the slot a learned selector fills as well."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from rag_research.graph.candidates import Candidates

_TOKEN = re.compile(r"\w+|[^\w\s]")


class Selector(Protocol):
    """Keeps some of the candidates; built from its ``Config`` alone. See ``SELECTORS``.

    ``learned``: it goes by keep probabilities, where a path selector gave them, in place of anchor
    scores and diffused energy.
    """

    Config: ClassVar[type[Any]]
    learned: ClassVar[bool]

    def __init__(self, config: Any) -> None: ...

    def select(self, candidates: Candidates) -> list[int]:
        """Numbers of the kept nodes, ascending."""
        ...


@dataclass(frozen=True, slots=True)
class ThresholdConfig:
    """Args:
    energy: least energy of a kept span, where all energy is 1 (0.01).
    """

    name: str = "threshold"
    energy: float = 0.01


class Threshold:
    """Spans of enough energy, and the anchors (the paper's pruning)."""

    Config = ThresholdConfig
    learned = False

    def __init__(self, config: ThresholdConfig) -> None:
        self.config = config

    def select(self, candidates: Candidates) -> list[int]:
        """See the class."""
        kept = (n for n, e in enumerate(candidates.energy) if e >= self.config.energy)
        return _with_anchors(kept, candidates)


@dataclass(frozen=True, slots=True)
class RelativeConfig:
    """Args:
    share: least energy of a kept span as a share of the highest.
    """

    name: str = "relative"
    share: float = 0.05


class Relative:
    """Spans whose energy comes near the highest one, and the anchors."""

    Config = RelativeConfig
    learned = False

    def __init__(self, config: RelativeConfig) -> None:
        self.config = config

    def select(self, candidates: Candidates) -> list[int]:
        """See the class."""
        least = self.config.share * max(candidates.energy, default=0.0)
        kept = (n for n in candidates.by_energy() if candidates.energy[n] >= least)
        return _with_anchors(kept, candidates)


@dataclass(frozen=True, slots=True)
class TopEnergyConfig:
    """Args:
    k: spans to keep.
    """

    name: str = "top_energy"
    k: int = 10

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError(f"k must be at least 1, got {self.k}")


class TopEnergy:
    """The ``k`` spans of highest energy, and the anchors."""

    Config = TopEnergyConfig
    learned = False

    def __init__(self, config: TopEnergyConfig) -> None:
        self.config = config

    def select(self, candidates: Candidates) -> list[int]:
        """See the class."""
        return _with_anchors(candidates.by_energy()[: self.config.k], candidates)


@dataclass(frozen=True, slots=True)
class TokenBudgetConfig:
    """Args:
    tokens: words and punctuation marks of the kept spans together, at most, unless the first
        has more.
    """

    name: str = "token_budget"
    tokens: int = 512

    def __post_init__(self) -> None:
        if self.tokens < 1:
            raise ValueError(f"tokens must be at least 1, got {self.tokens}")


class TokenBudget:
    """Spans by energy for as long as they fit; the first is kept whatever its length.

    Of the others, one that is too long is passed over.
    """

    Config = TokenBudgetConfig
    learned = False

    def __init__(self, config: TokenBudgetConfig) -> None:
        self.config = config

    def select(self, candidates: Candidates) -> list[int]:
        """See the class."""
        left = self.config.tokens
        kept: list[int] = []
        for number in candidates.by_energy():
            cost = count_tokens(candidates.graph.nodes[number].span.text)
            if cost <= left or not kept:
                left -= cost
                kept.append(number)
        return sorted(kept)


@dataclass(frozen=True, slots=True)
class LearnedConfig(TokenBudgetConfig):
    """Args:
    tokens: words and punctuation marks of the kept spans together, at most.
    probability: least keep probability of a kept span; 0 fills the budget. The best span is
        kept whatever it has.
    """

    name: str = "learned"
    probability: float = 0.02


class Learned(TokenBudget):
    """Spans by the path selector's keep probability, for as long as they fit and are likely.

    The probability stands where the diffused energy stands otherwise; where nothing gave one, as
    behind hybrid retrieval, this is :class:`TokenBudget`.
    """

    Config = LearnedConfig
    learned = True

    def __init__(self, config: LearnedConfig) -> None:
        super().__init__(config)
        self._least = config.probability

    def select(self, candidates: Candidates) -> list[int]:
        """See the class."""
        fitting = super().select(candidates)
        if not candidates.learned:
            return fitting
        scores = candidates.scores
        best = max(fitting, key=lambda n: (scores[n], -n), default=None)
        return [n for n in fitting if n == best or scores[n] >= self._least]


@dataclass(frozen=True, slots=True)
class RandomSpansConfig:
    """Args:
    k: spans to keep.
    seed: of the draw; the question counts as well.
    """

    name: str = "random"
    k: int = 10
    seed: int = 0


class RandomSpans:
    """Any ``k`` spans: the floor of every comparison."""

    Config = RandomSpansConfig
    learned = False

    def __init__(self, config: RandomSpansConfig) -> None:
        self.config = config

    def select(self, candidates: Candidates) -> list[int]:
        """See the class."""
        draw = random.Random(f"{self.config.seed}:{candidates.query.text}")
        size = len(candidates.energy)
        return sorted(draw.sample(range(size), min(self.config.k, size)))


@dataclass(frozen=True, slots=True)
class KeepAllConfig:
    """Nothing to set."""

    name: str = "none"


class KeepAll:
    """The null object: every span that holds energy."""

    Config = KeepAllConfig
    learned = False

    def __init__(self, config: KeepAllConfig) -> None:
        self.config = config

    def select(self, candidates: Candidates) -> list[int]:
        """See the class."""
        return _with_anchors(candidates.by_energy(), candidates)


def count_tokens(text: str) -> int:
    """Words and punctuation marks: a count that no tokenizer decides."""
    return len(_TOKEN.findall(text))


def _with_anchors(kept: Iterable[int], candidates: Candidates) -> list[int]:
    return sorted({*kept, *candidates.anchors})
