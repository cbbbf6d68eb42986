"""Spans of bounded length, cut at the strongest separator that fits."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rag_research.text.chunks import WORD
from rag_research.text.sentences import sentence_offsets

_PARAGRAPH = re.compile(r"\n\s*\n\s*")
_LINE = re.compile(r"\n\s*")


@dataclass(frozen=True, slots=True)
class RecursiveConfig:
    """Settings of :class:`Recursive`.

    Args:
        size: most characters in a span (a single word may be longer).
    """

    name: str = "recursive"
    size: int = 400

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"size: got {self.size}, expected at least 1.")


class Recursive:
    """Splits at paragraphs; a piece that is too long at lines, then sentences, then words.

    Neighbouring pieces are put together again as long as they fit into ``size``, as the
    recursive character splitters in wide use do, with sentence ends known here.
    """

    Config = RecursiveConfig

    def __init__(self, config: RecursiveConfig) -> None:
        self.config = config

    @property
    def identity(self) -> Mapping[str, str]:
        """The name and the size."""
        return {"segmenter": self.config.name, "size": str(self.config.size), "version": "1"}

    def segment(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """See :class:`rag_research.extract.spans.Segmenter`."""
        return [self._split(text, 0, len(text), 0) if text else [] for text in texts]

    def _split(self, text: str, start: int, end: int, level: int) -> list[tuple[int, int]]:
        if end - start <= self.config.size or level == len(_LEVELS):
            return [(start, end)]
        cuts = [start + cut for cut in _LEVELS[level](text[start:end]) if 0 < cut < end - start]
        spans: list[tuple[int, int]] = []
        first = start
        for left, right in zip([start, *cuts], [*cuts, end], strict=True):
            if right - first <= self.config.size:
                continue  # still fits together with what is open
            if first < left:
                spans.append((first, left))
            first = left
            if right - left > self.config.size:
                spans += self._split(text, left, right, level + 1)
                first = right
        if first < end:
            spans.append((first, end))
        return spans


def _after(pattern: re.Pattern[str]) -> Callable[[str], list[int]]:
    return lambda text: [match.end() for match in pattern.finditer(text)]


_LEVELS: tuple[Callable[[str], list[int]], ...] = (
    _after(_PARAGRAPH),
    _after(_LINE),
    lambda text: [start for start, _ in sentence_offsets(text)],
    lambda text: [match.start() for match in WORD.finditer(text)],
)
