"""Triplets made elsewhere: published OpenIE files, or one's own JSON lines.

Two formats, plain or gzip, told apart by their content:

* published OpenIE output (HippoRAG, T2RAG): one JSON object
  ``{"docs": [{"idx", "passage", "extracted_entities", "extracted_triples"}]}``;
* our own JSON lines, as :meth:`~rag_research.extract.triplets.Extraction.save` writes them:
  ``{"id": passage id, "triplets": [[subject, predicate, object], ...]}`` a line.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rag_research.corpus.corpus import Corpus
from rag_research.errors import ConfigError, DataError
from rag_research.extract.triplets import Extraction, Rows, clean_rows
from rag_research.llm.base import LLM
from rag_research.prompts.library import PromptLibrary
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.text.normalise import matching_form
from rag_research.types import Passage, Triplet


@dataclass(frozen=True, slots=True)
class ImportedConfig:
    """Settings of :class:`Imported`.

    Args:
        path: the triplet file, ``.json`` or ``.jsonl``, plain or ``.gz``.
    """

    path: str
    name: str = "imported"

    def __post_init__(self) -> None:
        if not self.path:
            raise ConfigError("imported.path: is empty. Name a triplet file.")


@dataclass(frozen=True, slots=True)
class Document:
    """The triplets of one document of a file; ``id`` or ``passage`` may be empty."""

    id: str
    passage: str
    rows: Sequence[Any]
    title: str = ""


class Imported:
    """Takes triplets from a file and finds the passages they belong to.

    A document belongs to the passages that have, in this order of preference: its exact
    contents (title and text), the same contents after normalisation, its id (only when the
    file brings no passage text, for ids of different releases may coincide by chance), or its
    text alone. All passages of equal contents receive its triplets.
    """

    Config: ClassVar[type[ImportedConfig]] = ImportedConfig

    def __init__(self, config: ImportedConfig) -> None:
        self.config = config

    def extract(
        self,
        corpus: Corpus,
        store: ArtifactStore,
        llm: LLM | None = None,
        prompts: PromptLibrary | None = None,
        concurrency: int = 8,
    ) -> Extraction:
        """The file's triplets by passage; no LLM is asked and nothing is stored.

        The report adds ``documents`` and ``rows`` (in the file), ``matched_documents``,
        ``unmatched_documents``, ``matched`` and ``unmatched`` (passages).

        Raises:
            DataError: the file cannot be read, or none of it belongs to this corpus.
        """
        del store, llm, prompts, concurrency  # of the protocol, not needed here
        path = Path(self.config.path)
        documents = read_documents(path)
        finders = _finders(corpus)
        found: dict[str, list[Any]] = {}
        matched = 0
        for document in documents:
            ids = next(filter(None, (find(document) for find in finders)), ())
            matched += bool(ids)
            for id in ids:
                found.setdefault(id, []).extend(document.rows)
        if not found and len(corpus) > 0:
            raise DataError(_nothing_matched(path, documents, corpus))
        cleaned = {id: clean_rows(rows) for id, rows in found.items()}
        triplets = {p.id: cleaned.get(p.id, Rows(())).triplets for p in corpus}
        return Extraction(triplets, _report(documents, matched, cleaned, triplets))


def read_documents(path: Path) -> list[Document]:
    """Read either format.

    Raises:
        DataError: names the file, the line or document, and what is wrong.
    """
    if not path.is_file():
        raise DataError(f"{path}: there is no such triplet file.")
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        text = raw.decode("utf-8-sig")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read as UTF-8 text ({error}).") from error
    whole = _whole_json(text)
    if isinstance(whole, Mapping) and isinstance(whole.get("docs"), list):
        entries = enumerate(whole["docs"], start=1)
        return [_published(doc, f"{path}: docs[{position - 1}]") for position, doc in entries]
    return list(_own(text, path))


def _whole_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _published(doc: Any, where: str) -> Document:
    if not isinstance(doc, Mapping) or not isinstance(doc.get("extracted_triples"), list):
        raise DataError(f"{where}: expected an object with a list 'extracted_triples'.")
    passage: Any = doc.get("passage") or ""
    title: Any = doc.get("title") or ""
    if isinstance(passage, Mapping):  # some releases keep title and text apart
        passage, title = passage.get("text") or "", passage.get("title") or ""
    return Document(str(doc.get("idx", "")), str(passage), doc["extracted_triples"], str(title))


def _own(text: str, path: Path) -> Iterator[Document]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise DataError(
                f"{path}, line {number}: not JSON ({error}). Expected either one object with "
                "'docs', or one object with 'id' and 'triplets' a line."
            ) from error
        if not isinstance(row, Mapping) or not isinstance(row.get("triplets"), list):
            raise DataError(
                f"{path}, line {number}: expected an object with 'id' and a list 'triplets'."
            )
        yield Document(str(row.get("id", "")), str(row.get("passage", "")), row["triplets"])


Finder = Callable[[Document], Sequence[str]]


def _finders(corpus: Corpus) -> list[Finder]:
    exact = _groups(corpus, lambda p: p.contents)
    normal = _groups(corpus, lambda p: matching_form(p.contents))
    texts = _groups(corpus, lambda p: matching_form(p.text))

    def by_id(document: Document) -> Sequence[str]:
        return () if document.passage or document.id not in corpus else (document.id,)

    def by_contents(document: Document) -> Sequence[str]:
        return exact.get(document.passage, ())

    def by_normal_form(document: Document) -> Sequence[str]:
        form = matching_form(document.passage)
        titled = matching_form(f"{document.title}\n{document.passage}")
        return normal.get(form, ()) or normal.get(titled, ()) if form else ()

    def by_text(document: Document) -> Sequence[str]:
        form = matching_form(document.passage)
        return texts.get(form, ()) if form else ()

    return [by_id, by_contents, by_normal_form, by_text]


def _groups(corpus: Corpus, key: Callable[[Passage], str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for passage in corpus:
        groups.setdefault(key(passage), []).append(passage.id)
    return groups


def _nothing_matched(path: Path, documents: Sequence[Document], corpus: Corpus) -> str:
    first = next(iter(corpus))
    lines = [f"{path}: none of its {len(documents)} documents belongs to this corpus."]
    if documents:
        theirs = documents[0]
        lines.append(f"  first document: id {theirs.id!r}, passage {theirs.passage[:80]!r}")
    lines.append(f"  first passage:  id {first.id!r}, contents {first.contents[:80]!r}")
    lines.append(
        "Compared: ids (for documents without text), contents as 'title\\ntext' exactly and "
        "without case, spacing and punctuation, and texts alone. "
        "Give the file that was made from this corpus, or add passage ids to it."
    )
    return "\n".join(lines)


def _report(
    documents: Sequence[Document],
    matched: int,
    cleaned: Mapping[str, Rows],
    triplets: Mapping[str, tuple[Triplet, ...]],
) -> dict[str, int]:
    return {
        "passages": len(triplets),
        "triplets": sum(len(rows) for rows in triplets.values()),
        "empty": sum(id in cleaned and not rows for id, rows in triplets.items()),
        "failed": 0,
        "rejects": sum(rows.rejects for rows in cleaned.values()),
        "duplicates": sum(rows.duplicates for rows in cleaned.values()),
        "documents": len(documents),
        "rows": sum(len(d.rows) for d in documents),
        "matched_documents": matched,
        "unmatched_documents": len(documents) - matched,
        "matched": len(cleaned),
        "unmatched": len(triplets) - len(cleaned),
    }
