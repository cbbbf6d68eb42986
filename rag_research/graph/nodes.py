"""What the topology graph connects: verbatim spans of documents."""

from __future__ import annotations

from dataclasses import dataclass

from rag_research.types import Span


@dataclass(frozen=True, slots=True)
class SemanticNode:
    """A span of a document with what is known about it.

    Args:
        span: the text and where it stands.
        position: its number among the spans of its document, from 0; neighbours differ by 1.
        title: of the document.
        entities: keys of the entities it mentions (:func:`rag_research.text.entities.entity_key`).
    """

    span: Span
    position: int
    title: str = ""
    entities: frozenset[str] = frozenset()

    @property
    def key(self) -> tuple[str, int, int]:
        """Document, start and end: what makes a node itself, and the order of nodes."""
        return self.span.document_id, self.span.start, self.span.end
