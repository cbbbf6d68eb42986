"""Training passages without their titles, so that a selector does not live by titles alone.

In most training questions the next passage has the name that leads to it as its title. Elsewhere
the name only stands in its text: in questions about what a passage says of something else, and in
corpora whose passages have no title of their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from rag_research.graph.corpus_entities import key_hash
from rag_research.types import Passage


def without_titles(passages: Iterable[Passage], share: float) -> tuple[Passage, ...]:
    """The same passages, some of them with an empty title.

    Args:
        passages: any; which lose their titles depends on their ids only.
        share: of them that do, 0 to 1.
    """
    return tuple(replace(p, title="") if _place(p.id) < share else p for p in passages)


def _place(id: str) -> float:
    """A number in [0, 1) that says nothing of the passage."""
    return key_hash(f"untitled\n{id}") / 2**64
