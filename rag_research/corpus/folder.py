"""A folder of one's own documents."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rag_research.corpus.assemble import assemble
from rag_research.corpus.dataset import Dataset
from rag_research.corpus.documents import READERS, read_document
from rag_research.corpus.records import existing
from rag_research.errors import DataError
from rag_research.runtime.progress import progress
from rag_research.text.chunks import Offsets, chunk, token_offsets
from rag_research.types import Passage

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FolderConfig:
    """Which folder, and how its documents are cut.

    Args:
        path: a folder, searched with its subfolders for .txt, .md, .html, .htm, .pdf and .docx
            files. Names that start with a dot are passed over.
        chunk_size: units in a passage.
        chunk_overlap: units a passage shares with the one before it in the same document.
        chunk_unit: ``words``, ``characters`` or ``tokens``.
        tokenizer: local folder or hub id of the tokenizer that counts ``tokens``.
        on_error: ``raise`` stops at a file that cannot be read; ``skip`` goes on without it and
            reports how many were skipped.
    """

    path: str
    name: str = "folder"
    chunk_size: int = 200
    chunk_overlap: int = 30
    chunk_unit: Literal["words", "characters", "tokens"] = "words"
    tokenizer: str | None = None
    on_error: Literal["raise", "skip"] = "raise"

    def __post_init__(self) -> None:
        if not 0 <= self.chunk_overlap < self.chunk_size:
            raise ValueError(
                f"chunk_overlap must be at least 0 and less than chunk_size, got "
                f"{self.chunk_overlap} and {self.chunk_size}."
            )
        if (self.chunk_unit == "tokens") != (self.tokenizer is not None):
            raise ValueError("chunk_unit 'tokens' and tokenizer go together: give both or neither.")


class Folder:
    """Loader of a folder of documents, without questions.

    A passage's id is ``relative/path.ext#n`` with ``n`` from 1 in each document, so adding a
    document changes no other id. Its title is the document's own title, else the file's stem.
    A document without text (a scanned PDF) is kept as one empty passage and reported.
    """

    Config = FolderConfig

    def __init__(self, config: FolderConfig) -> None:
        self.config = config

    def load(self) -> Dataset:
        """Read every document; the dataset is named after the folder."""
        root = existing(Path(self.config.path), "folder of documents")
        if not root.is_dir():
            raise DataError(f"{root} is a file. Expected a folder of documents.")
        files = _documents(root)
        if not files:
            raise DataError(f"{root} holds no document. Looked for: {', '.join(READERS)}.")
        unit = self._unit()
        passages: list[Passage] = []
        skipped: list[str] = []
        with progress("read documents", len(files)) as advance:
            for file in files:
                try:
                    passages += self._passages(root, file, unit)
                except DataError as error:
                    if self.config.on_error == "raise":
                        raise
                    skipped.append(str(error))
                advance()
        if skipped:
            logger.warning(
                "%s: skipped %d of %d files. The first: %s",
                root,
                len(skipped),
                len(files),
                skipped[0],
            )
        return assemble(root.resolve().name, passages, [], root)

    def _passages(
        self, root: Path, file: Path, unit: Literal["words", "characters"] | Offsets
    ) -> Iterator[Passage]:
        document = read_document(file)
        size, overlap = self.config.chunk_size, self.config.chunk_overlap
        windows = chunk(document.text, size, overlap, unit) or [(0, 0)]
        path = file.relative_to(root).as_posix()
        for number, (start, end) in enumerate(windows, 1):
            text = document.text[start:end].strip()
            yield Passage(f"{path}#{number}", document.title, text, path)

    def _unit(self) -> Literal["words", "characters"] | Offsets:
        if self.config.chunk_unit != "tokens":
            return self.config.chunk_unit
        from transformers import AutoTokenizer

        return token_offsets(AutoTokenizer.from_pretrained(self.config.tokenizer))


def _documents(root: Path) -> list[Path]:
    def visible(path: Path) -> bool:
        return not any(part.startswith(".") for part in path.relative_to(root).parts)

    found = (p for p in root.rglob("*") if p.suffix.lower() in READERS and p.is_file())
    return sorted(p for p in found if visible(p))
