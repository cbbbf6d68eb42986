"""Passages pooled from many questions' contexts into one corpus."""

from __future__ import annotations

import hashlib
import json

from rag_research.types import Passage


class Pool:
    """Collects passages, each (title, text) once, under an id made from its content.

    In published distractor files the gold passages of a question stand together, and the order
    of a file carries over to a pooled corpus. :meth:`passages` therefore sorts by id, which is
    a hash: neither ids nor order tell which passages came from one question.

    Args:
        source: written into every passage.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._passages: dict[str, Passage] = {}

    def add(self, title: str, text: str) -> str:
        """Add a passage unless it is there, and return its id."""
        title, text = title.strip(), text.strip()
        content = json.dumps([title, text], ensure_ascii=False)
        id = hashlib.sha256(content.encode()).hexdigest()[:16]
        self._passages.setdefault(id, Passage(id, title, text, self._source))
        return id

    def passages(self) -> list[Passage]:
        """Everything added, sorted by id."""
        return [self._passages[id] for id in sorted(self._passages)]
