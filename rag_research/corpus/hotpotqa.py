"""HotpotQA in its official distractor format."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rag_research.corpus.assemble import assemble
from rag_research.corpus.dataset import Dataset
from rag_research.corpus.pool import Pool
from rag_research.corpus.records import Row, existing, json_rows
from rag_research.types import Question


@dataclass(frozen=True, slots=True)
class HotpotQAConfig:
    """Where the file is.

    Args:
        path: ``hotpot_dev_distractor_v1.json`` or a part of it, plain or gzip.
        first: read only this many questions, and pool only their contexts; ``None`` reads all.
    """

    path: str
    name: str = "hotpotqa"
    first: int | None = None


class HotpotQA:
    """Loader of a JSON array of questions, each with ten titled paragraphs.

    All paragraphs are pooled into one corpus. The gold passages of a question are the
    paragraphs of its own context whose titles its supporting facts name.
    """

    Config = HotpotQAConfig

    def __init__(self, config: HotpotQAConfig) -> None:
        self.config = config

    def load(self) -> Dataset:
        """Read the file."""
        return load_contexts(self.config.name, self.config.path, self.config.first)


def load_contexts(name: str, path: str, first: int | None) -> Dataset:
    """A dataset from HotpotQA's format, which 2WikiMultihopQA shares and adds evidence to.

    Args:
        name: of the dataset.
        path: of the file.
        first: at most this many questions.

    Raises:
        DataError: names file and line, or item, and what is wrong there.
    """
    file = existing(Path(path), f"{name} file")
    pool = Pool(file.name)
    questions: list[Question] = []
    for row in json_rows(file):
        if first is not None and len(questions) == first:
            break
        questions.append(_question(row, pool))
    return assemble(name, pool.passages(), questions, file)


def read_context(row: Row) -> list[tuple[str, str]]:
    """Title and text of each paragraph in ``context``."""
    found = []
    for paragraph in row.items("context"):
        match paragraph:
            case [str(title), [*sentences]] if all(isinstance(s, str) for s in sentences):
                found.append((title, " ".join(s.strip() for s in sentences)))
            case _:
                raise row.wrong("context", paragraph, "[title, [sentence, ...]]")
    return found


def read_supporting_titles(row: Row) -> list[str]:
    """Titles in ``supporting_facts``, each once; none where the field is absent."""
    found = []
    for fact in row.items("supporting_facts") if "supporting_facts" in row.values else []:
        match fact:
            case [str(title), int()]:
                found.append(title)
            case _:
                raise row.wrong("supporting_facts", fact, "[title, sentence number]")
    return list(dict.fromkeys(found))


def _question(row: Row, pool: Pool) -> Question:
    ids = {title: pool.add(title, text) for title, text in read_context(row)}
    titles = read_supporting_titles(row)
    for title in titles:
        if title not in ids:
            raise row.wrong("supporting_facts", title, f"a title of its context, one of {[*ids]}")
    return Question(
        id=row.text("_id"),
        text=row.text("question"),
        answers=row.texts("answer", ()),
        type=row.text("type", ""),
        gold_passages=tuple(ids[title] for title in titles),
        evidence=row.triplets("evidences"),
    )
