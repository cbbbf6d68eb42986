"""UltraDomain and sets of its form: open questions about long texts, for pairwise judging."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from rag_research.corpus.assemble import assemble
from rag_research.corpus.dataset import Dataset
from rag_research.corpus.records import Row, existing, json_rows
from rag_research.errors import DataError
from rag_research.text.chunks import chunk
from rag_research.types import Passage, Question

ENDINGS = (".jsonl", ".jsonl.gz")
_QUESTION = ("input", "question", "query")
_ID = ("_id", "id", "question_id")
_TITLE = ("title", "context_title")
_DOMAIN = ("label", "domain", "dataset")


@dataclass(frozen=True, slots=True)
class UltraDomainConfig:
    """Where the files are, and how their texts become passages.

    Args:
        path: a JSON lines file (``agriculture.jsonl``), or a folder of them, plain or gzip.
        questions: a file with questions of one's own about the same texts; those beside the
            texts are then left out.
        chunk_size: words in a passage; ``None`` keeps every text whole, for systems that cut
            texts themselves. 750 words are about the 1,024 tokens of the ToG-3 paper.
        chunk_overlap: words a passage shares with the one before it in the same text.
        answers: ``"ignore"`` leaves questions without gold answers, so that no metric compares
            with them; ``"gold"`` takes the set's own answers. Those are free text, and exact
            match with them is close to 0 for any system.
    """

    path: str
    name: str = "ultradomain"
    questions: str | None = None
    chunk_size: int | None = 750
    chunk_overlap: int = 15
    answers: Literal["ignore", "gold"] = "ignore"

    def __post_init__(self) -> None:
        if self.chunk_size is not None and not 0 <= self.chunk_overlap < self.chunk_size:
            raise ValueError(
                f"chunk_overlap: expected 0 <= chunk_overlap < chunk_size, got "
                f"{self.chunk_overlap} with chunk_size {self.chunk_size}."
            )


@dataclass(slots=True)
class _Read:
    """What was read so far: texts by their hash, each with its title and source."""

    texts: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    questions: list[Question] = field(default_factory=list)


class UltraDomain:
    """Loader of rows with a question, the long text it is about, title and domain.

    Fields: ``input`` (also ``question``, ``query``), ``context``, and where they are there
    ``_id`` or ``id``, ``answers``, ``label`` or ``dataset`` (the domain, which becomes the
    question's type) and ``meta`` with ``title``. A row may hold a text only or a question only.
    Equal texts are kept once, with the first title. A question's id is the row's, else file
    and row. No passage is marked as gold: a whole book tells nothing about retrieval.
    """

    Config = UltraDomainConfig

    def __init__(self, config: UltraDomainConfig) -> None:
        self.config = config

    def load(self) -> Dataset:
        """Read the files; the dataset is named after the file or folder."""
        root = existing(Path(self.config.path), "UltraDomain file or folder")
        read = _Read()
        for file in _files(root):
            self._read_file(file, read)
        if self.config.questions is not None:
            own = _Read()
            self._read_file(existing(Path(self.config.questions), "questions file"), own)
            read.questions = own.questions
        passages = (p for id, text in read.texts.items() for p in self._passages(id, *text))
        return assemble(root.resolve().name.partition(".")[0], passages, read.questions, root)

    def _read_file(self, file: Path, read: _Read) -> None:
        stem = file.name.partition(".")[0]
        for number, row in enumerate(json_rows(file), 1):
            asked, text = _first(row, _QUESTION), row.text("context", "").strip()
            if not asked and not text:
                raise DataError(
                    f"{row.where}: expected a question in 'input' or a text in 'context', got "
                    f"neither. Fields: {', '.join(map(str, row.values)) or 'none'}."
                )
            if text:
                digest = hashlib.sha256(text.encode()).hexdigest()[:16]
                read.texts.setdefault(digest, (_titled(row), text, file.name))
            if asked:
                domain = _first(row, _DOMAIN) or stem
                gold = row.texts("answers", ()) if self.config.answers == "gold" else ()
                read.questions.append(
                    Question(
                        id=_first(row, _ID) or f"{stem}-{number}",
                        text=asked,
                        answers=tuple(answer for answer in gold if answer.strip()),
                        type=domain,
                    )
                )

    def _passages(self, id: str, title: str, text: str, source: str) -> Iterator[Passage]:
        size = self.config.chunk_size
        windows = [(0, len(text))] if size is None else chunk(text, size, self.config.chunk_overlap)
        for number, (start, end) in enumerate(windows, 1):
            yield Passage(f"{id}#{number}", title, text[start:end].strip(), source)


def _files(root: Path) -> list[Path]:
    if root.is_file():
        return [root]
    files = sorted(p for p in root.iterdir() if p.name.endswith(ENDINGS))
    if not files:
        raise DataError(f"{root} holds no file that ends in {' or '.join(ENDINGS)}.")
    return files


def _first(row: Row, keys: tuple[str, ...]) -> str:
    """The first of several fields that is there and not blank."""
    found = (row.text(key, "").strip() for key in keys)
    return next((text for text in found if text), "")


def _titled(row: Row) -> str:
    meta = row.values.get("meta")
    if meta is not None and not isinstance(meta, dict):
        raise row.wrong("meta", meta, "a mapping with 'title'")
    inner = Row(meta or {}, f"{row.where}, meta")
    return _first(inner, _TITLE) or _first(row, _TITLE)
