"""What an extractor is, what it gives back, and the rules every triplet obeys."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol

from rag_research.config.fingerprint import fingerprint
from rag_research.corpus.corpus import Corpus
from rag_research.llm.base import LLM
from rag_research.llm.resumable import Make, added, cost_of, finish_items
from rag_research.prompts.library import PromptLibrary
from rag_research.runtime.artifacts import ArtifactStore, ItemLog
from rag_research.text.normalise import text_key
from rag_research.types import Entity, Passage, Triplet, Usage

STAGE = "triplets"


@dataclass(frozen=True, slots=True)
class Extraction:
    """The triplets of a corpus.

    Args:
        triplets: passage id -> its triplets in order; every passage is there, some with none.
        report: counts: ``passages``, ``triplets``, ``empty`` (passages without triplet),
            ``rejects`` (malformed rows), ``duplicates`` (repeats inside a passage) and what
            the extractor adds (``failed``, ``repaired``, ``reused``, ``matched``, ...).
        usage: cost by purpose, that of work resumed from the store included.
        entities: passage id -> what the extractor says about entities of its triplets, where
            it says anything.
    """

    triplets: Mapping[str, tuple[Triplet, ...]]
    report: Mapping[str, int]
    usage: Mapping[str, Usage] = field(default_factory=dict)
    entities: Mapping[str, tuple[Entity, ...]] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """Sixteen hex digits over passages and triplets in order; keys what is built on them."""
        return fingerprint([[id, [list(t) for t in rows]] for id, rows in self.triplets.items()])

    def save(self, path: Path) -> None:
        """Write JSON lines that :class:`~rag_research.extract.imported.Imported` reads.

        One passage a line: ``{"id": passage id, "triplets": [[subject, predicate, object]]}``.
        """
        with path.open("w", encoding="utf-8") as file:
            for id, rows in self.triplets.items():
                row = {"id": id, "triplets": [list(t) for t in rows]}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")


class Extractor(Protocol):
    """One way to get triplets out of passages; built from its ``Config`` alone."""

    Config: ClassVar[type[Any]]

    def __init__(self, config: Any) -> None: ...

    def extract(
        self,
        corpus: Corpus,
        store: ArtifactStore,
        llm: LLM,
        prompts: PromptLibrary,
        concurrency: int = 8,
    ) -> Extraction:
        """Triplets of every passage; finished passages are found in ``store``.

        Args:
            corpus: the passages.
            store: keeps one item for every finished passage.
            llm: asked by extractors that need one.
            prompts: where their prompts are.
            concurrency: most passages under way at once.
        """
        ...


@dataclass(frozen=True, slots=True)
class Rows:
    """Triplets that passed :func:`clean_rows`, and how many rows did not."""

    triplets: tuple[Triplet, ...]
    rejects: int = 0
    duplicates: int = 0


def clean_rows(rows: Iterable[Any]) -> Rows:
    """Keep rows of exactly three non-empty strings, each once, in order.

    Surrounding white space is stripped and inner white space squeezed before rows are
    compared. Source: the T2RAG paper, section on triplet extraction.
    """
    kept: dict[Triplet, None] = {}
    rejects = duplicates = 0
    for row in rows:
        triplet = read_row(row)
        if triplet is None:
            rejects += 1
        elif triplet in kept:
            duplicates += 1
        else:
            kept[triplet] = None
    return Rows(tuple(kept), rejects, duplicates)


def read_row(row: Any) -> Triplet | None:
    """The triplet in one row, or ``None`` if it is not three non-empty strings."""
    if isinstance(row, str) or not isinstance(row, Sequence) or len(row) != 3:
        return None
    if not all(isinstance(slot, str) for slot in row):
        return None
    slots = [" ".join(slot.split()) for slot in row]
    return Triplet(*slots) if all(slots) else None


def passage_key(passage: Passage) -> str:
    """The item key of a passage: its title and text, not its id, so equal passages share work."""
    return text_key(passage.title, passage.text)


def unfinished(corpus: Corpus, log: ItemLog) -> dict[str, Passage]:
    """The passages that have no item in ``log``, by item key; equal ones once."""
    pending: dict[str, Passage] = {}
    for passage in corpus:
        if (key := passage_key(passage)) not in log:
            pending.setdefault(key, passage)
    return pending


def extract_each(
    corpus: Corpus, log: ItemLog, make: Make[Passage], llm: LLM, concurrency: int
) -> Extraction:
    """Triplets of every passage by asking a model passage by passage.

    Args:
        corpus: the passages.
        log: finished passages; new ones are added.
        make: a passage -> its item, see :func:`collect`.
        llm: what ``make`` asks.
        concurrency: most passages under way at once.

    Returns:
        The report adds ``reused`` (passages found in the log, or equal to another one) and the
        usage what failed passages cost in this call.

    Raises:
        LLMError: every passage that was asked failed: the backend is down.
        BudgetExceededError: the budget is spent; finished passages are kept.
    """
    pending = unfinished(corpus, log)
    lost = finish_items("extract triplets", pending, make, log, llm, concurrency)
    found = {key: log[key] for key in map(passage_key, corpus) if key in log}
    extraction = collect(corpus, found, reused=len(corpus) - len(pending))
    return replace(extraction, usage=added(extraction.usage, lost))


def collect(corpus: Corpus, items: Mapping[str, Mapping[str, Any]], **counts: int) -> Extraction:
    """Put stored items together to an extraction.

    Args:
        corpus: gives the passages and their order.
        items: ``passage_key`` -> ``{"triplets": [[s, p, o]], "rejects": int,
            "duplicates": int, ..., "usage": {purpose: {...}}}``; every whole number is summed
            up in the report, and a passage that is not there counts as failed. Passages with
            equal contents share one item, and its counts and cost are taken once. ``"described"``
            (``[[name, type, description]]``) may be there.
        **counts: added to the report.
    """
    triplets: dict[str, tuple[Triplet, ...]] = {}
    entities: dict[str, tuple[Entity, ...]] = {}
    usage: dict[str, Usage] = {}
    report = dict.fromkeys(("rejects", "duplicates"), 0)
    failed = 0
    seen: set[str] = set()
    for passage in corpus:
        key = passage_key(passage)
        item = items.get(key)
        triplets[passage.id] = tuple(Triplet(*row) for row in item["triplets"]) if item else ()
        if item and item.get("described"):
            entities[passage.id] = tuple(Entity(*row) for row in item["described"])
        failed += item is None
        if item is None or key in seen:
            continue
        seen.add(key)
        for name, value in item.items():
            if isinstance(value, int):
                report[name] = report.get(name, 0) + value
        usage = added(usage, cost_of(item))
    total = {
        "passages": len(corpus),
        "triplets": sum(len(rows) for rows in triplets.values()),
        "empty": sum(not rows for rows in triplets.values()) - failed,
        "failed": failed,
    }
    return Extraction(triplets, total | report | counts, usage, entities)
