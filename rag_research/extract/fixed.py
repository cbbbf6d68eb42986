"""Spans of equal length, blind to what the text says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rag_research.text.chunks import chunk


@dataclass(frozen=True, slots=True)
class FixedConfig:
    """Settings of :class:`Fixed`.

    Args:
        size: units in a span; the last one of a text may be shorter.
        unit: ``words`` (in scripts without spaces each character is one) or ``characters``.
    """

    name: str = "fixed"
    size: int = 60
    unit: Literal["words", "characters"] = "words"

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"size: got {self.size}, expected at least 1.")


class Fixed:
    """Cuts after every ``size`` words or characters. The ablation of the boundary network."""

    Config = FixedConfig

    def __init__(self, config: FixedConfig) -> None:
        self.config = config

    @property
    def identity(self) -> Mapping[str, str]:
        """The name and both settings."""
        config = self.config
        return {"segmenter": config.name, "size": str(config.size), "unit": config.unit}

    def segment(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """See :class:`rag_research.extract.spans.Segmenter`; blank text is one span."""
        size, unit = self.config.size, self.config.unit
        return [chunk(text, size, 0, unit) or _whole(text) for text in texts]


def _whole(text: str) -> list[tuple[int, int]]:
    return [(0, len(text))] if text else []
