"""Documents ready for the topology graph: spans with their entities, built without an LLM."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from rag_research.extract.spans import Interval, Segmenter, Source, bounded, map_spans
from rag_research.graph.nodes import SemanticNode
from rag_research.runtime.artifacts import ArtifactStore, ItemLog
from rag_research.runtime.progress import progress
from rag_research.text.entities import entity_key, plain_title
from rag_research.text.normalise import matching_form, text_key
from rag_research.types import Span, Triplet

STAGE = "spans"
VERSION = 1
_BATCH = 128

Facts = Mapping[tuple[str, int, int], tuple[Triplet, ...]]


class EntityFinder(Protocol):
    """Finds where texts name something; see ``ENTITY_FINDERS``."""

    @property
    def identity(self) -> Mapping[str, str]:
        """Everything that decides what is found."""
        ...

    def mentions(self, texts: Sequence[str]) -> list[list[Interval]]:
        """For each text the ``(start, end)`` character ranges of its mentions, sorted."""
        ...


@dataclass(frozen=True, slots=True)
class Document:
    """A document and its spans.

    Args:
        source: id, title, text and the passages it is made of.
        nodes: its spans in order.
        facts: triplets of each span, by its key, where they are asked for.
        verbatim: the text is the passages' own, so offsets in them count here too.
    """

    source: Source
    nodes: tuple[SemanticNode, ...]
    facts: Facts = field(default_factory=dict)
    verbatim: bool = True

    def overlapping(self, start: int, end: int) -> slice:
        """Which of ``nodes`` have a character in ``[start, end)``."""
        first = bisect_right(self.nodes, start, key=lambda node: node.span.end)
        last = bisect_left(self.nodes, end, key=lambda node: node.span.start)
        return slice(first, max(first, last))

    def passage_of(self, start: int, end: int) -> str:
        """The passage that holds most of ``[start, end)``; the first of equals."""

        def held(passage: tuple[str, Interval]) -> int:
            _, (first, last) = passage
            return min(end, last) - max(start, first)

        return max(self.source.passages.items(), key=held)[0]


def span_documents(
    sources: Sequence[Source],
    segmenter: Segmenter,
    finder: EntityFinder,
    store: ArtifactStore,
    longest: int | None = None,
) -> list[Document]:
    """Cut documents into spans and find the entities of each.

    Finished documents are found in ``store``, by their text, so a corpus that grows costs what
    is new. No generative model is asked: construction costs no LLM tokens.

    Args:
        sources: the documents.
        segmenter: cuts them.
        finder: finds mentions; a mention belongs to the span it starts in.
        store: keeps cuts and mentions, one line of JSON a document.
        longest: most words of a span, see :func:`bounded`; ``None`` leaves spans as they are cut.
    """
    inputs = {"segmenter": dict(segmenter.identity), "entities": dict(finder.identity)}
    log = store.items(STAGE, VERSION, inputs)
    pending = {key: s for s in sources if (key := text_key(s.text)) not in log}
    _work_through(pending, segmenter, finder, log)
    return [_document(source, log[text_key(source.text)], longest) for source in sources]


def _work_through(
    pending: Mapping[str, Source], segmenter: Segmenter, finder: EntityFinder, log: ItemLog
) -> None:
    keys = list(pending)
    with progress("map spans", len(keys)) as advance:
        for at in range(0, len(keys), _BATCH):
            batch = keys[at : at + _BATCH]
            sources = [pending[key] for key in batch]
            spans = map_spans(sources, segmenter)
            mentions = finder.mentions([source.text for source in sources])
            for key, own, found in zip(batch, spans, mentions, strict=True):
                log.add(key, {"spans": [[s.start, s.end] for s in own], "mentions": found})
                advance()


def _document(source: Source, item: Mapping[str, Any], longest: int | None) -> Document:
    spans: Sequence[Interval] = [(start, end) for start, end in item["spans"]]
    if longest is not None:
        spans = bounded(source.text, spans, longest)
    starts = [start for start, _ in spans]
    keys: list[set[str]] = [set() for _ in starts]
    for start, end in item["mentions"]:
        if starts:
            keys[bisect_right(starts, start) - 1].add(entity_key(source.text[start:end]))
    nodes = (
        SemanticNode(
            Span(source.id, start, end, source.text[start:end]),
            position,
            source.title,
            frozenset(filter(None, keys[position])),
        )
        for position, (start, end) in enumerate(spans)
    )
    return Document(source, tuple(nodes))


def with_title_entity(documents: Iterable[Document]) -> list[Document]:
    """The document title as an entity of each of its spans, disambiguation left out."""
    titled = []
    for document in documents:
        key = entity_key(plain_title(document.source.title))
        own = frozenset((key,)) if key else frozenset()
        nodes = (replace(node, entities=node.entities | own) for node in document.nodes)
        titled.append(replace(document, nodes=tuple(nodes)))
    return titled


def triplet_documents(
    sources: Sequence[Source], triplets: Mapping[str, Sequence[Triplet]]
) -> list[Document]:
    """Documents whose spans are verbalised triplets, one a line, instead of their own text.

    Args:
        sources: the documents.
        triplets: of each passage.
    """
    return [_triplet_document(source, triplets) for source in sources]


def _triplet_document(source: Source, triplets: Mapping[str, Sequence[Triplet]]) -> Document:
    text, passages, found = "", {}, []
    for id in source.passages:
        start = len(text)
        for triplet in triplets.get(id, ()):
            line = f"{triplet.proposition}.\n"
            found.append((len(text), triplet))
            text += line
        passages[id] = (start, len(text))
    nodes, facts = [], {}
    edges = [*(start for start, _ in found), len(text)]
    for position, (start, triplet) in enumerate(found):
        end = edges[position + 1]
        keys = frozenset(filter(None, map(entity_key, (triplet.subject, triplet.object))))
        span = Span(source.id, start, end, text[start:end])
        nodes.append(SemanticNode(span, position, source.title, keys))
        facts[nodes[-1].key] = (triplet,)
    own = Source(source.id, source.title, text, passages)
    return Document(own, tuple(nodes), facts, verbatim=False)


def with_facts(document: Document, triplets: Mapping[str, Sequence[Triplet]]) -> Document:
    """Give each triplet of a document's passages to the span that shares most words with it.

    Args:
        document: its facts are replaced.
        triplets: of each passage.
    """
    facts: dict[tuple[str, int, int], tuple[Triplet, ...]] = {}
    words = [set(matching_form(node.span.text).split()) for node in document.nodes]
    for id, interval in document.source.passages.items():
        where = document.overlapping(*interval)
        places = range(len(document.nodes))[where]
        for triplet in triplets.get(id, ()) if places else ():
            said = set(matching_form(triplet.proposition).split())
            best = max(places, key=lambda n: (len(said & words[n]), -n))
            key = document.nodes[best].key
            facts[key] = (*facts.get(key, ()), triplet)
    return replace(document, facts=facts)
