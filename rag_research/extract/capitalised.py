"""Entities by their spelling: runs of capitalised words. Needs no model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag_research.text.entities import capitalised_offsets

Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class CapitalisedConfig:
    """Settings of :class:`Capitalised`: none."""

    name: str = "capitalised"


class Capitalised:
    """Finds runs of capitalised words; scripts without case give none."""

    Config = CapitalisedConfig

    def __init__(self, config: CapitalisedConfig) -> None:
        self.config = config

    @property
    def identity(self) -> Mapping[str, str]:
        """Everything that decides what is found, for fingerprints."""
        return {"entities": self.config.name, "version": "1"}

    def mentions(self, texts: Sequence[str]) -> list[list[Interval]]:
        """Where each text names something.

        Args:
            texts: N strings.

        Returns:
            For each text the ``(start, end)`` character ranges, sorted.
        """
        return [capitalised_offsets(text) for text in texts]
