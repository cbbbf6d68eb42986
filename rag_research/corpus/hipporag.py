"""The files HippoRAG and its successors publish: a corpus and a questions file, both JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_research.corpus.assemble import assemble
from rag_research.corpus.dataset import Dataset
from rag_research.corpus.hotpotqa import read_context, read_supporting_titles
from rag_research.corpus.pool import Pool
from rag_research.corpus.records import Row, existing, json_rows
from rag_research.types import Question

ANSWER_FIELDS = ("answer", "answers", "gold_ans", "reference", "obj", "possible_answers")
ALIAS_FIELDS = ("answer_aliases", "o_aliases")


@dataclass(frozen=True, slots=True)
class HippoRAGConfig:
    """Where the files are.

    Args:
        corpus: ``NAME_corpus.json``: a JSON array of ``{"title", "text"}``.
        questions: ``NAME.json``, in the format of HotpotQA, 2WikiMultihopQA, MuSiQue, PopQA or
            with ``paragraphs``; ``None`` reads no questions.
    """

    corpus: str
    name: str = "hipporag"
    questions: str | None = None


class HippoRAG:
    """Loader of a shared corpus and questions of several published formats.

    Gold passages are matched by title and text, or by title alone where the texts differ and
    the title is unique in the corpus; gold passages the corpus lacks are left out.
    """

    Config = HippoRAGConfig

    def __init__(self, config: HippoRAGConfig) -> None:
        self.config = config

    def load(self) -> Dataset:
        """Read the files; the dataset is named after the corpus file."""
        file = existing(Path(self.config.corpus), "HippoRAG corpus file")
        pool = Pool(file.name)
        for row in json_rows(file):
            pool.add(row.text("title", ""), row.text("text"))
        questions = []
        if self.config.questions is not None:
            lookup = _Lookup(pool)
            source = existing(Path(self.config.questions), "HippoRAG questions file")
            questions = [
                _question(row, number, lookup) for number, row in enumerate(json_rows(source), 1)
            ]
        name = file.name.split(".")[0].removesuffix("_corpus")
        return assemble(name, pool.passages(), questions, file)


class _Lookup:
    def __init__(self, pool: Pool) -> None:
        self.by_content: dict[tuple[str, str], str] = {}
        self.by_title: dict[str, list[str]] = {}
        for passage in pool.passages():
            self.by_content[passage.title, _plain(passage.text)] = passage.id
            self.by_title.setdefault(passage.title, []).append(passage.id)

    def find(self, title: str, text: str) -> str | None:
        title = title.strip()
        found = self.by_content.get((title, _plain(text)))
        same_title = self.by_title.get(title, [])
        return found or (same_title[0] if len(same_title) == 1 else None)


def _plain(text: str) -> str:
    return "".join(text.split())  # published copies differ in how sentences are joined


def _question(row: Row, number: int, lookup: _Lookup) -> Question:
    key = "_id" if "_id" in row.values else "id"
    found = [lookup.find(title, text) for title, text in _gold(row)]
    return Question(
        id=row.text(key, str(number)),
        text=row.text("question"),
        answers=_answers(row),
        type=row.text("type", ""),
        gold_passages=tuple(dict.fromkeys(id for id in found if id)),
        evidence=row.triplets("evidences"),
    )


def _gold(row: Row) -> list[tuple[str, str]]:
    if "supporting_facts" in row.values and "context" in row.values:
        titles = read_supporting_titles(row)
        return [(title, text) for title, text in read_context(row) if title in titles]
    key = "paragraphs" if "paragraphs" in row.values else "contexts"
    found = []
    for item in row.items(key) if key in row.values else []:
        if not isinstance(item, dict):
            raise row.wrong(key, item, "objects with title and text")
        part = Row(item, row.where)
        text = part.text("text" if "text" in item else "paragraph_text")
        if item.get("is_supporting", True):
            found.append((part.text("title", ""), text))
    return found


def _answers(row: Row) -> tuple[str, ...]:
    found: list[str] = []
    for key in (*ANSWER_FIELDS, *ALIAS_FIELDS):
        for text in row.texts(key, ()):
            found += json_list(text)
    return tuple(dict.fromkeys(found))


def json_list(text: str) -> list[str]:
    """The strings of a JSON list written as text (as PopQA does), or ``[text]``."""
    if text.startswith("["):
        try:
            value: Any = json.loads(text)
        except json.JSONDecodeError:
            return [text]
        if isinstance(value, list):
            return [str(item) for item in value]
    return [text]
