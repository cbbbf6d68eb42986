"""Data sets of the Hugging Face hub, or in a local folder of that format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rag_research.corpus.assemble import assemble
from rag_research.corpus.dataset import Dataset
from rag_research.corpus.pool import Pool
from rag_research.corpus.records import Row
from rag_research.errors import DataError, missing_extra
from rag_research.types import Passage, Question


@dataclass(frozen=True, slots=True)
class HubConfig:
    """Which data set, and what its columns are called.

    Args:
        path: hub id (``"owner/name"``) or local folder, as ``datasets.load_dataset`` takes it.
        corpus_subset: configuration name of the passages; ``None`` is the default one.
        corpus_split: their split.
        questions_subset: configuration name of the questions.
        questions_split: their split; ``None`` reads no questions.
        id: column of passage and question ids. Passages without it get an id made from their
            content, questions their row number.
        title: column of titles; it may be absent.
        text: column of passage texts.
        question: column of question texts.
        answers: column of an answer or a list of answers; it may be absent.
        gold_passages: column of passage ids; it may be absent.
        revision: commit, tag or branch on the hub.
    """

    path: str
    name: str = "hub"
    corpus_subset: str | None = None
    corpus_split: str = "train"
    questions_subset: str | None = None
    questions_split: str | None = None
    id: str = "id"
    title: str = "title"
    text: str = "text"
    question: str = "question"
    answers: str = "answers"
    gold_passages: str = "gold_passages"
    revision: str | None = None


class Hub:
    """Loader over the ``datasets`` library (extra ``hub``), imported when :meth:`load` runs."""

    Config = HubConfig

    def __init__(self, config: HubConfig) -> None:
        self.config = config

    def load(self) -> Dataset:
        """Fetch, or find in the library's cache, and read.

        Raises:
            MissingExtraError: the library is not installed.
            DataError: the data set or a column cannot be read.
        """
        config = self.config
        pool = Pool(config.path)
        passages = []
        for row in self._rows(config.corpus_subset, config.corpus_split):
            title, text = row.text(config.title, ""), row.text(config.text)
            id = row.text(config.id, "")
            if id:
                passages.append(Passage(id, title, text, config.path))
            else:
                pool.add(title, text)
        questions = []
        if config.questions_split is not None:
            rows = self._rows(config.questions_subset, config.questions_split)
            questions = [self._question(row, number) for number, row in enumerate(rows)]
        return assemble(config.path, [*passages, *pool.passages()], questions, config.path)

    def _rows(self, subset: str | None, split: str) -> list[Row]:
        try:
            import datasets
        except ImportError as error:
            raise missing_extra("datasets", "hub", "The dataset loader 'hub'") from error
        try:
            found: Any = datasets.load_dataset(
                self.config.path, subset, split=split, revision=self.config.revision
            )
        except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
            raise DataError(
                f"The data set {self.config.path!r} (subset {subset!r}, split {split!r}) cannot "
                f"be read: {error}. Check the names, or load it once with a network connection."
            ) from error
        where = f"{self.config.path}, {split}"
        return [Row(dict(values), f"{where} row {i}") for i, values in enumerate(found)]

    def _question(self, row: Row, number: int) -> Question:
        return Question(
            id=row.text(self.config.id, str(number)),
            text=row.text(self.config.question),
            answers=row.texts(self.config.answers, ()),
            gold_passages=row.texts(self.config.gold_passages, ()),
        )
