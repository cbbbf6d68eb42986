"""The values that flow between the stages: frozen, slotted, plain types only.

corpus -> extract -> graph + index -> retrieve -> solve -> evaluation
Passage   Triplet                     Hit         Answer   Usage
          Span
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields


@dataclass(frozen=True, slots=True)
class Passage:
    """One retrievable unit of text, the field's "passage" or "chunk".

    Args:
        id: unique inside a corpus.
        title: may be empty; several passages may share one.
        text: the passage's own text, without the title.
        source: where it came from (a file path, a data set), for people to read.
    """

    id: str
    title: str
    text: str
    source: str = ""

    @property
    def contents(self) -> str:
        """Title and text as the systems read them: ``title + "\\n" + text``."""
        return f"{self.title}\n{self.text}" if self.title else self.text

    @property
    def text_start(self) -> int:
        """Character of :attr:`contents` at which the text starts."""
        return len(self.contents) - len(self.text)


@dataclass(frozen=True, slots=True)
class Span:
    """A verbatim piece of one document: ``text == document[start:end]`` (characters)."""

    document_id: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Triplet:
    """An atomic fact ``(subject, predicate, object)``; slots are non-empty strings.

    In a query triplet a slot may be a variable (``?name`` or ``?``), see
    :mod:`rag_research.solve.placeholders`.
    """

    subject: str
    predicate: str
    object: str

    def __iter__(self) -> Iterator[str]:
        return iter((self.subject, self.predicate, self.object))

    @property
    def proposition(self) -> str:
        """The triplet as one sentence-like string: ``"{subject} {predicate} {object}"``."""
        return f"{self.subject} {self.predicate} {self.object}"


@dataclass(frozen=True, slots=True)
class Entity:
    """A thing that triplets speak of; mentions meet under ``entity_key(name)``.

    Args:
        name: as texts write it.
        type: what kind of thing it is; may be empty.
        description: a few words about it; may be empty.
    """

    name: str
    type: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with what is known about it.

    Args:
        id: unique inside a data set.
        text: the question as asked.
        answers: gold answers and aliases; empty when unknown.
        type: the data set's own question type (``bridge``, ``comparison``, ...).
        gold_passages: ids of the passages that hold the evidence, in no particular order.
        evidence: gold triplets, where the data set has them.
        supporting_facts: title of a gold passage and number of a sentence in it, from 0, where
            the data set has them.
    """

    id: str
    text: str
    answers: tuple[str, ...] = ()
    type: str = ""
    gold_passages: tuple[str, ...] = ()
    evidence: tuple[Triplet, ...] = ()
    supporting_facts: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """One retrieved item. Lists of hits are sorted by ``(-score, id)``."""

    id: str
    score: float


@dataclass(frozen=True, slots=True)
class Usage:
    """What LLM calls cost.

    Args:
        calls: completions asked for, cached ones included.
        cached_calls: how many of ``calls`` a cache answered.
        input_tokens: prompt tokens of all calls, cached ones included.
        output_tokens: generated tokens of all calls, cached ones included.
        seconds: wall-clock seconds spent waiting for completions.
    """

    calls: int = 0
    cached_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def weighted_tokens(self) -> int:
        """``input + 4 * output``: the cost measure of the T2RAG paper."""
        return self.input_tokens + 4 * self.output_tokens


@dataclass(frozen=True, slots=True)
class Answer:
    """What a system returns for one question.

    Args:
        text: the final answer, as short as the system could make it.
        evidence: retrieved passages, best first, without repeats; recall@k reads them.
        rounds: retrieval rounds used (0 for a system that does not retrieve).
        facts: triplets the answer rests on, where the system works with triplets.
        stats: further countable facts about this answer (``unique_chunks``, ``resolved``).
        spans: verbatim pieces the answer rests on, in reading order, where the system works
            with spans.
    """

    text: str
    evidence: tuple[Hit, ...] = ()
    rounds: int = 0
    facts: tuple[Triplet, ...] = ()
    stats: Mapping[str, float] = field(default_factory=dict)
    spans: tuple[Span, ...] = ()
