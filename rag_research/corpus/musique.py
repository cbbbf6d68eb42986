"""MuSiQue in its official format."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rag_research.corpus.assemble import assemble
from rag_research.corpus.dataset import Dataset
from rag_research.corpus.pool import Pool
from rag_research.corpus.records import Row, existing, json_rows
from rag_research.types import Question


@dataclass(frozen=True, slots=True)
class MuSiQueConfig:
    """Where the file is.

    Args:
        path: ``musique_ans_v1.0_dev.jsonl`` or another part, plain or gzip.
        first: read only this many questions, and pool only their paragraphs; ``None`` reads
            all. Questions left out by ``answerable_only`` do not count.
        answerable_only: leave out questions marked unanswerable (``musique_full``); their
            paragraphs are pooled all the same.
    """

    path: str
    name: str = "musique"
    first: int | None = None
    answerable_only: bool = True


class MuSiQue:
    """Loader of JSON lines, each with twenty paragraphs marked supporting or not.

    Several paragraphs may share a title, so gold passages follow the marks and not the titles.
    The type is the first part of the id (``2hop``, ``3hop1``, ...); aliases count as answers.
    """

    Config = MuSiQueConfig

    def __init__(self, config: MuSiQueConfig) -> None:
        self.config = config

    def load(self) -> Dataset:
        """Read the file."""
        file = existing(Path(self.config.path), "MuSiQue file")
        pool = Pool(file.name)
        questions: list[Question] = []
        for row in json_rows(file):
            if len(questions) == self.config.first:
                break
            question = _question(row, pool)
            if not self.config.answerable_only or row.values.get("answerable", True):
                questions.append(question)
        return assemble(self.config.name, pool.passages(), questions, file)


def _question(row: Row, pool: Pool) -> Question:
    gold = []
    for paragraph in row.items("paragraphs"):
        if not isinstance(paragraph, dict):
            raise row.wrong("paragraphs", paragraph, "objects with title and paragraph_text")
        part = Row(paragraph, f"{row.where}, paragraph {paragraph.get('idx', '?')}")
        id = pool.add(part.text("title"), part.text("paragraph_text"))
        if paragraph.get("is_supporting"):
            gold.append(id)
    id = row.text("id")
    answers = (*row.texts("answer", ()), *row.texts("answer_aliases", ()))
    return Question(
        id=id,
        text=row.text("question"),
        answers=tuple(dict.fromkeys(answers)),
        type=id.split("__")[0],
        gold_passages=tuple(dict.fromkeys(gold)),
    )
