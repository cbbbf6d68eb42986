"""Documents whose true segments are known: to train and measure segmentation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rag_research.corpus.records import existing, json_rows
from rag_research.errors import DataError


@dataclass(frozen=True, slots=True)
class SegmentedDocument:
    """A text and where its segments start.

    Args:
        id: unique in its file.
        source: the kind of document (``wiki``).
        text: sentences joined by single spaces, inside segments and between them.
        cuts: character positions at which segments after the first start, increasing.
    """

    id: str
    source: str
    text: str
    cuts: tuple[int, ...]


def read_segmented(path: Path | str) -> Iterator[SegmentedDocument]:
    """Read JSON lines ``{"id", "source", "segments": [[sentence, ...], ...]}``, gzipped or not.

    The text must not tell a segment's end by anything but words: sentences are joined by one
    space everywhere, and a sentence that ends in a letter or digit gets a full stop. Without
    the full stop some published sets give segments away, because only the last sentence of
    each was stripped of its own.

    Raises:
        DataError: a row without these fields or without any sentence.
    """
    for row in json_rows(Path(path)):
        segments = row.require("segments")
        if not isinstance(segments, list) or not all(isinstance(s, list) for s in segments):
            raise DataError(f"{row.where}: 'segments' has to be a list of lists of sentences.")
        yield document_of(segments, row.text("id", "") or row.where, row.text("source", ""))


def segmented_file(folder: Path, name: str) -> Path:
    """The file of a set, gzipped or not.

    Args:
        folder: of segmented documents.
        name: of the file without its ending.

    Raises:
        DataError: there is none; names what is there.
    """
    for ending in (".jsonl.gz", ".jsonl"):
        if (folder / f"{name}{ending}").is_file():
            return folder / f"{name}{ending}"
    return existing(folder / f"{name}.jsonl.gz", "file of segmented documents")


def document_of(segments: list[list[str]], name: str, source: str = "") -> SegmentedDocument:
    """Join segments into a document; see :func:`read_segmented`. Empty segments are dropped."""
    joined = (" ".join(_closed(s) for s in segment if s.strip()) for segment in segments)
    texts = [text for text in joined if text]
    if not texts:
        raise DataError(f"{name}: no segment has a sentence.")
    cuts, position = [], 0
    for text in texts[:-1]:
        position += len(text) + 1
        cuts.append(position)
    return SegmentedDocument(name, source, " ".join(texts), tuple(cuts))


def _closed(sentence: str) -> str:
    sentence = " ".join(sentence.split())
    return f"{sentence}." if sentence[-1].isalnum() else sentence
