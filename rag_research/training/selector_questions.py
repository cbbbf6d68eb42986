"""Training questions of the path selector: gold passages, hops, supporting texts, pools."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_research.corpus.records import Row, existing, json_rows
from rag_research.errors import DataError, did_you_mean
from rag_research.graph.corpus_entities import title_key
from rag_research.types import Passage

Range = tuple[int, int]
_REFERENCE = re.compile(r"#(\d+)")


@dataclass(frozen=True, slots=True)
class TrainingQuestion:
    """One question with what is known of its answer's path.

    Args:
        id: of the question.
        dataset: it comes from.
        text: as asked.
        passages: given with it, gold and other, without repeats.
        gold: ids of gold passages, in the order given.
        hops: place in the chain of a gold passage, from 0; passages asked side by side share
            one. Absent where unknown.
        support: character ranges in ``Passage.text`` of gold passages that hold the evidence.
    """

    id: str
    dataset: str
    text: str
    passages: tuple[Passage, ...]
    gold: tuple[str, ...]
    hops: Mapping[str, int]
    support: Mapping[str, tuple[Range, ...]]


@dataclass(frozen=True, slots=True)
class _Given:
    """A passage of a row: its sentences' places in its text are kept."""

    passage: Passage
    sentences: tuple[Range, ...]
    gold: bool


def read_questions(path: Path, leave_out: Sequence[str] = ()) -> list[TrainingQuestion]:
    """Read training questions, sorted by data set and id.

    A row has ``dataset``, ``id``, ``question``, ``passages: [{title, sentences, is_gold}]`` and,
    where known, ``supporting_facts: [[title, sentence or sentences]]``, ``evidences: [[subject,
    relation, object]]`` or ``decomposition: [{question, answer, paragraph_support_idx}]``.

    Args:
        path: JSON lines or a JSON array, gzipped or not.
        leave_out: data sets that are skipped.

    Raises:
        DataError: no such file, a row without one of the fields, repeated ids, a data set in
            ``leave_out`` that is not in the file, or no question left.
    """
    found: dict[tuple[str, str], TrainingQuestion] = {}
    names: set[str] = set()
    for row in json_rows(existing(path, "file of training questions")):
        names.add(row.text("dataset"))
        if row.text("dataset") in leave_out:
            continue
        question = _question(row)
        key = (question.dataset, question.id)
        if key in found:
            raise DataError(f"{row.where}: the id {question.id!r} is there already. Drop one.")
        found[key] = question
    for name in leave_out:
        if name not in names:
            raise DataError(
                f"leave_out: {path} has no data set {name!r}.{did_you_mean(name, names)} "
                f"It has: {', '.join(sorted(names))}."
            )
    if not found:
        raise DataError(f"{path}: no question is left to train on.")
    return [found[key] for key in sorted(found)]


def passage_id(title: str, text: str) -> str:
    """An id that says nothing but what the passage says."""
    return hashlib.blake2b(f"{title}\n{text}".encode(), digest_size=8).hexdigest()


def pool(
    questions: Iterable[TrainingQuestion], dataset: str, smallest: int = 0
) -> tuple[Passage, ...]:
    """Passages that the questions of a data set are searched in, sorted by id.

    Args:
        questions: of all data sets.
        dataset: whose questions are asked.
        smallest: fewer passages of its own are joined by those of all data sets. Another data
            set's passage under one of its own titles stays out: it is often another edition of
            the same article, and would be a wrong answer that is right.
    """
    everything = list(questions)
    own = {p.id: p for q in everything if q.dataset == dataset for p in q.passages}
    chosen = dict(own)
    if len(own) < smallest:
        taken = {title_key(p.title) for p in own.values()}
        foreign = {p.id: p for q in everything if q.dataset != dataset for p in q.passages}
        chosen |= {id: p for id, p in foreign.items() if title_key(p.title) not in taken}
        chosen |= own
    return tuple(chosen[id] for id in sorted(chosen))


def split_questions(
    questions: Sequence[TrainingQuestion],
    validation: float,
    seed: int,
    limit: int | None = None,
) -> tuple[list[TrainingQuestion], list[TrainingQuestion]]:
    """Training and validation questions; which is which depends on ids and the seed only.

    Args:
        questions: of all data sets.
        validation: share of each data set, at least one question unless it is 0.
        seed: of the choice.
        limit: most training questions, taken evenly from all data sets; ``None`` keeps all.
    """

    def place(question: TrainingQuestion) -> str:
        key = f"{seed}\n{question.dataset}\n{question.id}"
        return hashlib.sha256(key.encode()).hexdigest()

    training: list[TrainingQuestion] = []
    held: list[TrainingQuestion] = []
    for dataset in sorted({q.dataset for q in questions}):
        own = sorted((q for q in questions if q.dataset == dataset), key=place)
        count = min(max(round(validation * len(own)), 1), len(own) - 1) if validation else 0
        held += own[:count]
        training += own[count:]
    return sorted(training, key=place)[:limit], held


def _question(row: Row) -> TrainingQuestion:
    given = [_given(item, row) for item in row.items("passages")]
    passages = {item.passage.id: item.passage for item in given}
    gold = tuple(dict.fromkeys(item.passage.id for item in given if item.gold))
    if row.values.get("decomposition"):
        hops, support = _decomposed(row, given)
    else:
        hops, support = _evidence_hops(row, given), _supporting(row, given)
    return TrainingQuestion(
        id=row.text("id"),
        dataset=row.text("dataset"),
        text=row.text("question"),
        passages=tuple(passages.values()),
        gold=gold,
        hops={id: hop for id, hop in hops.items() if id in gold},
        support={id: tuple(ranges) for id, ranges in support.items() if id in gold},
    )


def _given(item: Any, row: Row) -> _Given:
    if not isinstance(item, Mapping):
        raise row.wrong("passages", item, "{title, sentences, is_gold}")
    inner = Row(item, row.where)
    sentences = [sentence.strip() for sentence in inner.texts("sentences")]
    title, text = inner.text("title"), " ".join(sentences)
    ends = [0]
    for sentence in sentences:
        ends.append(ends[-1] + len(sentence) + 1)
    ranges = tuple((a, a + len(s)) for a, s in zip(ends, sentences, strict=False))
    passage = Passage(passage_id(title, text), title, text)
    return _Given(passage, ranges, bool(inner.require("is_gold")))


def _supporting(row: Row, given: Sequence[_Given]) -> dict[str, list[Range]]:
    """Supporting sentences named by title and number; several numbers may stand in a list."""
    support: dict[str, list[Range]] = {}
    for fact in row.values.get("supporting_facts") or ():
        if not isinstance(fact, (list, tuple)) or len(fact) != 2:
            raise row.wrong("supporting_facts", fact, "[title, sentence]")
        numbers = fact[1] if isinstance(fact[1], list) else [fact[1]]
        if not all(isinstance(number, int) for number in numbers):
            raise row.wrong("supporting_facts", fact, "[title, number of a sentence, from 0]")
        for item in given:
            if item.gold and item.passage.title == fact[0]:
                ranges = [item.sentences[n] for n in numbers if 0 <= n < len(item.sentences)]
                support.setdefault(item.passage.id, []).extend(ranges)
    return support


def _evidence_hops(row: Row, given: Sequence[_Given]) -> dict[str, int]:
    """Chain depth of gold titles: an evidence's subject comes after what it was the object of."""
    depth: dict[str, int] = {}
    for triple in row.values.get("evidences") or ():
        if not isinstance(triple, (list, tuple)) or len(triple) != 3:
            raise row.wrong("evidences", triple, "[subject, relation, object]")
        subject, target = title_key(str(triple[0])), title_key(str(triple[2]))
        depth.setdefault(subject, 0)
        if target != subject:
            depth[target] = max(depth.get(target, 0), depth[subject] + 1)
    keys = {item.passage.id: title_key(item.passage.title) for item in given if item.gold}
    return {id: depth[key] for id, key in keys.items() if key in depth}


def _decomposed(row: Row, given: Sequence[_Given]) -> tuple[dict[str, int], dict[str, list[Range]]]:
    """Depth of each step's passage, and where its text holds the step's answer."""
    hops: dict[str, int] = {}
    support: dict[str, list[Range]] = {}
    depths: list[int] = []
    for value in row.items("decomposition"):
        if not isinstance(value, Mapping):
            raise row.wrong("decomposition", value, "{question, answer, paragraph_support_idx}")
        step = Row(value, row.where)
        told = (int(number) - 1 for number in _REFERENCE.findall(step.text("question")))
        depths.append(max((depths[n] + 1 for n in told if 0 <= n < len(depths)), default=0))
        place = step.values.get("paragraph_support_idx")
        if not isinstance(place, int) or not 0 <= place < len(given):
            raise row.wrong("paragraph_support_idx", place, "the number of a passage")
        passage = given[place].passage
        hops.setdefault(passage.id, depths[-1])
        answer = step.text("answer").strip()
        if answer:
            found = re.finditer(re.escape(answer), passage.text, re.IGNORECASE)
            support.setdefault(passage.id, []).extend(match.span() for match in found)
    return hops, support
