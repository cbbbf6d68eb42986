"""A folder of one's own documents."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from errno import EACCES
from pathlib import Path
from typing import Literal

from rag_research.corpus.assemble import assemble
from rag_research.corpus.dataset import Dataset
from rag_research.corpus.documents import READERS, printable, read_document
from rag_research.corpus.records import existing
from rag_research.errors import DataError
from rag_research.runtime.progress import progress
from rag_research.text.chunks import Offsets, chunk, token_offsets
from rag_research.types import Passage

logger = logging.getLogger(__name__)

SHOWN_KINDS = 8


@dataclass(frozen=True, slots=True)
class FolderConfig:
    """Which folder, and how its documents are cut.

    Args:
        path: a folder, searched with its subfolders, linked ones too, for .txt, .md, .markdown,
            .html, .htm, .xhtml, .pdf and .docx files; or one such file. Names that start with a
            dot are passed over.
        chunk_size: units in a passage.
        chunk_overlap: units a passage shares with the one before it in the same document.
        chunk_unit: ``words``, ``characters`` or ``tokens``.
        tokenizer: local folder or hub id of the tokenizer that counts ``tokens``.
        on_error: ``raise`` stops at a file or folder that cannot be read; ``skip`` goes on
            without it and reports how many were skipped.
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
    document changes no other id; a byte of the path that is not UTF-8 is written ``%E9``. Its
    title is the document's own title, else the file's stem. A document without text (a scanned
    PDF) is kept as one empty passage and reported, and so are files of other kinds.
    """

    Config = FolderConfig

    def __init__(self, config: FolderConfig) -> None:
        self.config = config

    def load(self) -> Dataset:
        """Read every document; the dataset is named after the folder or the one file.

        Raises:
            DataError: there is no document, or one or a folder that cannot be read.
        """
        root = existing(Path(self.config.path), "folder of documents")
        whole = root.is_dir()
        files, others, unreadable = documents_in(root) if whole else ([_one(root)], [], [])
        if unreadable and self.config.on_error == "raise":
            raise unreadable[0]
        if others:
            logger.warning("%s: passed over files of other kinds: %s.", root, kinds(others))
        if not files:
            raise DataError(f"{root} holds no document. Looked for: {', '.join(READERS)}.")
        skipped = [str(error) for error in unreadable]
        passages = self._read(root if whole else root.parent, files, skipped)
        if skipped:
            logger.warning(
                "%s: skipped %d of %d files and folders. The first: %s",
                root,
                len(skipped),
                len(files) + len(unreadable),
                skipped[0],
            )
        name = printable(root.resolve().name if whole else root.stem)
        return assemble(name, passages, [], root)

    def _read(self, root: Path, files: list[Path], skipped: list[str]) -> list[Passage]:
        """The passages of the files; what cannot be read is added to ``skipped``, or raised."""
        unit = self._unit()
        passages: list[Passage] = []
        with progress("read documents", len(files)) as advance:
            for file in files:
                try:
                    passages += self._passages(root, file, unit)
                except DataError as error:
                    if self.config.on_error == "raise":
                        raise
                    skipped.append(str(error))
                advance()
        return passages

    def _passages(
        self, root: Path, file: Path, unit: Literal["words", "characters"] | Offsets
    ) -> Iterator[Passage]:
        document = read_document(file)
        size, overlap = self.config.chunk_size, self.config.chunk_overlap
        windows = chunk(document.text, size, overlap, unit) or [(0, 0)]
        path = printable(file.relative_to(root).as_posix())
        for number, (start, end) in enumerate(windows, 1):
            text = document.text[start:end].strip()
            yield Passage(f"{path}#{number}", document.title, text, path)

    def _unit(self) -> Literal["words", "characters"] | Offsets:
        if self.config.chunk_unit != "tokens":
            return self.config.chunk_unit
        from transformers import AutoTokenizer

        return token_offsets(AutoTokenizer.from_pretrained(self.config.tokenizer))


def documents_in(root: Path) -> tuple[list[Path], list[Path], list[DataError]]:
    """What lies below a folder: documents and other files, each in order, and unreadable folders.

    Linked folders are followed; names that start with a dot are passed over.
    """
    files, unreadable = _walk(root)
    documents = {file for file in files if file.suffix.lower() in READERS and _is_file(file)}
    others = set(files) - documents
    return sorted(documents), sorted(others), [_unreadable(error) for error in unreadable]


def kinds(files: Iterable[Path]) -> str:
    """How many files there are of each ending (``.csv 2, .png 1``)."""
    counts = Counter(
        "links to nothing"
        if file.is_symlink() and not _is_file(file)
        else file.suffix.lower() or "no ending"
        for file in files
    )
    shown = [f"{kind} {n}" for kind, n in counts.most_common()]
    return ", ".join(shown[:SHOWN_KINDS]) + ", ..." * (len(shown) > SHOWN_KINDS)


def _one(file: Path) -> Path:
    if file.suffix.lower() not in READERS:
        raise DataError(
            f"{file} is a file. Expected a folder of documents, or one file that ends in "
            f"{', '.join(READERS)}."
        )
    return file


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except PermissionError:
        return True  # reading it gives the error in words


def _walk(root: Path) -> tuple[list[Path], list[OSError]]:
    """Files below a folder whose names do not start with a dot, and errors of its folders.

    A linked folder is followed unless it was already visited or holds the link itself. Links wait
    until every real folder has been visited, so that a file is named by its real place.
    """
    files: list[Path] = []
    errors: list[OSError] = []
    visited: set[Path] = set()
    tops = [root]
    for top in tops:  # grows with each link that is met
        for name, below, names in os.walk(top, onerror=errors.append):
            folder, here = Path(name), Path(name).resolve()
            visible = [folder / n for n in sorted(below) if not n.startswith(".")]
            below.clear()
            if here in visited:
                continue
            visited.add(here)
            if not os.access(folder, os.X_OK):  # its names can be read, its files cannot
                errors.append(PermissionError(EACCES, os.strerror(EACCES), name))
                continue
            below += [path.name for path in visible if not path.is_symlink()]
            links = [path for path in visible if path.is_symlink()]
            tops += [path for path in links if not here.is_relative_to(path.resolve())]
            files += [folder / n for n in names if not n.startswith(".")]
    return files, errors


def _unreadable(error: OSError) -> DataError:
    return DataError(
        f"{error.filename}: the folder cannot be read ({error.strerror}). Change its permissions, "
        "or pass over such folders with dataset.on_error=skip."
    )
