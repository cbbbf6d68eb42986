"""What is retrieved when passages are long: overlapping pieces of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from rag_research.text.chunks import chunk
from rag_research.types import Passage


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a passage.

    Args:
        id: the passage's own id where the passage is one chunk, else ``PASSAGE@START``.
        passage_id: the passage.
        start: first character in the passage's text.
        end: the character after the last one.
        contents: title and text, as indexes read it.
    """

    id: str
    passage_id: str
    start: int
    end: int
    contents: str

    @property
    def text_start(self) -> int:
        """Character of ``contents`` at which the piece itself starts, after the title."""
        return len(self.contents) - (self.end - self.start)


def chunk_passages(
    passages: Iterable[Passage],
    size: int,
    overlap: int,
    unit: Literal["words", "characters"] = "characters",
) -> list[Chunk]:
    """Cut passages into chunks; an empty passage is one empty chunk.

    Args:
        passages: in order.
        size: units in a chunk.
        overlap: units shared by neighbours.
        unit: what is counted, see :func:`~rag_research.text.chunks.chunk`.
    """
    chunks = []
    for passage in passages:
        windows = chunk(passage.text, size, overlap, unit) or [(0, 0)]
        for start, end in windows:
            id = passage.id if len(windows) == 1 else f"{passage.id}@{start}"
            text = passage.text[start:end]
            contents = f"{passage.title}\n{text}" if passage.title else text
            chunks.append(Chunk(id, passage.id, start, end, contents))
    return chunks
