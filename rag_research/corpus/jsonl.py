"""A corpus and questions as JSON lines: the format to bring one's own data in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rag_research.corpus.assemble import assemble
from rag_research.corpus.corpus import Corpus
from rag_research.corpus.dataset import Dataset
from rag_research.corpus.records import Row, existing, json_rows
from rag_research.corpus.subset import gold_and_distractors, sample_questions
from rag_research.errors import DataError, did_you_mean
from rag_research.types import Passage, Question

ENDINGS = (".jsonl", ".jsonl.gz")


@dataclass(frozen=True, slots=True)
class JsonLinesConfig:
    """Where the files are, and how much of them to use.

    Args:
        path: a folder with ``corpus.jsonl`` and ``questions*.jsonl``, each plain or
            ``.jsonl.gz``; or a corpus file.
        questions: name of the questions file beside the corpus, endings optional
            (``"questions_dev"``). ``"auto"`` takes the only ``questions*`` file there is;
            ``None`` reads no questions.
        sample_questions: keep this many questions, drawn by ``seed``; ``None`` keeps all.
        passages: ``"all"`` keeps the whole corpus. ``"gold_and_distractors"`` keeps the gold
            passages of the kept questions and ``distractors`` random passages for each of
            them: a small, much easier corpus for quick comparisons, never for published ones.
        distractors: see ``passages``; no effect with ``"all"``.
        seed: of the draws.
    """

    path: str
    name: str = "jsonl"
    questions: str | None = "auto"
    sample_questions: int | None = None
    passages: Literal["all", "gold_and_distractors"] = "all"
    distractors: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        if self.sample_questions is not None and self.sample_questions < 1:
            raise ValueError(f"sample_questions must be at least 1, got {self.sample_questions}.")
        if self.distractors < 0:
            raise ValueError(f"distractors must not be negative, got {self.distractors}.")


class JsonLines:
    """Loader of JSON lines, one object a line.

    Corpus: ``id``, ``text``, optional ``title``, ``source``. Questions: ``id``, ``question``,
    ``answers`` (a list) or ``answer``, and optional ``type``, ``gold_passages`` (corpus ids),
    ``evidence`` (``[[subject, predicate, object], ...]``), ``supporting_facts``
    (``[[title, sentence number], ...]``). Other fields are passed over.
    """

    Config = JsonLinesConfig

    def __init__(self, config: JsonLinesConfig) -> None:
        self.config = config

    def load(self) -> Dataset:
        """Read the files; the dataset is named after the folder or corpus file."""
        root = existing(Path(self.config.path), "corpus folder or file")
        corpus_file = _named(root, "corpus") if root.is_dir() else root
        name = root.resolve().name if root.is_dir() else root.name.split(".")[0]
        corpus = Corpus(read_passages(corpus_file))
        questions_file = self._questions_file(corpus_file.parent)
        questions = list(read_questions(questions_file)) if questions_file else []
        if self.config.sample_questions is not None:
            questions = sample_questions(questions, self.config.sample_questions, self.config.seed)
        full = assemble(name, corpus, questions, root)
        if self.config.passages == "all":
            return full
        if not questions:
            raise DataError(
                f"{root}: passages='gold_and_distractors' needs questions, and there are none. "
                "Name a questions file or use passages='all'."
            )
        kept = gold_and_distractors(corpus, questions, self.config.distractors, self.config.seed)
        return Dataset(name, Corpus(kept), full.questions)

    def _questions_file(self, folder: Path) -> Path | None:
        if self.config.questions is None:
            return None
        if self.config.questions != "auto":
            return _named(folder, self.config.questions)
        found = sorted(p for p in folder.glob("questions*") if p.name.endswith(ENDINGS))
        if len(found) > 1:
            raise DataError(
                f"{folder} holds several questions files: {', '.join(p.name for p in found)}. "
                "Choose one with the setting questions=NAME."
            )
        return found[0] if found else None


def read_passages(path: Path) -> Iterator[Passage]:
    """Passages of one corpus file.

    Raises:
        DataError: a corrupt line, a missing field, an id seen before; with the line.
    """
    first: dict[str, str] = {}
    for row in json_rows(path):
        id = row.text("id")
        if id in first:
            raise DataError(
                f"{row.where}: the id {id!r} was used before, at {first[id]}. "
                "Ids must be unique: rename or drop one."
            )
        first[id] = row.where.removeprefix(f"{path}, ")
        yield Passage(id, row.text("title", ""), row.text("text"), row.text("source", path.name))


def read_questions(path: Path) -> Iterator[Question]:
    """Questions of one file.

    Raises:
        DataError: a corrupt line or a missing field; with the line.
    """
    for row in json_rows(path):
        key = "answer" if "answer" in row.values and "answers" not in row.values else "answers"
        yield Question(
            id=row.text("id"),
            text=row.text("question"),
            answers=row.texts(key, ()),
            type=row.text("type", ""),
            gold_passages=row.texts("gold_passages", ()),
            evidence=row.triplets("evidence"),
            supporting_facts=_facts(row),
        )


def _facts(row: Row) -> tuple[tuple[str, int], ...]:
    found = []
    for fact in row.items("supporting_facts") if row.values.get("supporting_facts") else []:
        match fact:
            case [str(title), int(number)]:
                found.append((title, number))
            case [str(title), [*numbers]] if all(isinstance(n, int) for n in numbers):
                found += [(title, number) for number in numbers]
            case _:
                raise row.wrong("supporting_facts", fact, "[title, sentence number]")
    return tuple(found)


def _named(folder: Path, name: str) -> Path:
    for candidate in (name, *(name + ending for ending in ENDINGS)):
        if (folder / candidate).is_file():
            return folder / candidate
    names = sorted(p.name for p in folder.iterdir())
    raise DataError(
        f"{folder} has no file {name}.jsonl or {name}.jsonl.gz."
        f"{did_you_mean(name + '.jsonl', names)} It holds: {', '.join(names[:12]) or 'nothing'}."
    )
