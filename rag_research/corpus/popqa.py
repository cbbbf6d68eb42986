"""PopQA: questions in the official TSV or as JSON lines, with a corpus file beside them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rag_research.corpus.assemble import assemble
from rag_research.corpus.corpus import Corpus
from rag_research.corpus.dataset import Dataset
from rag_research.corpus.hipporag import json_list
from rag_research.corpus.jsonl import read_passages
from rag_research.corpus.pool import Pool
from rag_research.corpus.records import Row, existing, json_rows, tsv_rows
from rag_research.types import Passage, Question, Triplet

TSV_ENDINGS = (".tsv", ".tsv.gz")


@dataclass(frozen=True, slots=True)
class PopQAConfig:
    """Where the files are; PopQA itself has no passages.

    Args:
        questions: ``popQA.tsv``, or JSON lines with the same field names, plain or gzip.
        corpus: passages: JSON lines with ``id``, ``title``, ``text``, or a JSON array of
            ``{"title", "text"}`` without ids.
    """

    questions: str
    corpus: str
    name: str = "popqa"


class PopQA:
    """Loader of single-relation questions about entities of known popularity.

    Answers are ``possible_answers``: a JSON list, or names joined with ``|``. The gold passages
    are those whose title is the subject's Wikipedia title (``s_wiki_title``, else ``subj``).
    The type is the relation (``prop``), and the evidence ``(subj, prop, obj)``.
    """

    Config = PopQAConfig

    def __init__(self, config: PopQAConfig) -> None:
        self.config = config

    def load(self) -> Dataset:
        """Read the files."""
        corpus_file = existing(Path(self.config.corpus), "PopQA corpus file")
        corpus = Corpus(_passages(corpus_file))
        by_title: dict[str, list[str]] = {}
        for passage in corpus:
            by_title.setdefault(passage.title, []).append(passage.id)
        file = existing(Path(self.config.questions), "PopQA questions file")
        rows = tsv_rows(file) if file.name.endswith(TSV_ENDINGS) else json_rows(file)
        questions = [_question(row, by_title) for row in rows]
        return assemble(self.config.name, corpus, questions, file)


def _passages(file: Path) -> list[Passage]:
    first = next(json_rows(file), None)
    if first is None or "id" in first.values:
        return list(read_passages(file))
    pool = Pool(file.name)
    for row in json_rows(file):
        pool.add(row.text("title"), row.text("text"))
    return pool.passages()


def _question(row: Row, by_title: dict[str, list[str]]) -> Question:
    answers: list[str] = []
    for text in row.texts("possible_answers"):
        parts = json_list(text)
        answers += parts if len(parts) > 1 or text.startswith("[") else text.split("|")
    subject, relation, object = (row.text(key, "") for key in ("subj", "prop", "obj"))
    title = row.text("s_wiki_title", subject)
    return Question(
        id=row.text("id"),
        text=row.text("question"),
        answers=tuple(dict.fromkeys(answer.strip() for answer in answers if answer.strip())),
        type=relation,
        gold_passages=tuple(by_title.get(title, ())),
        evidence=(Triplet(subject, relation, object),) if subject and relation and object else (),
    )
