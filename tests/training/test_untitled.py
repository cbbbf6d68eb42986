"""Titles are dropped by id alone, and nothing else is."""

import pytest

from rag_research.training.untitled import without_titles
from rag_research.types import Passage

PASSAGES = [Passage(f"p{n}", f"Title {n}", f"Text {n}.", "file") for n in range(400)]


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_the_share_of_titles_is_dropped(share: float) -> None:
    bare = without_titles(PASSAGES, share)
    assert [(p.id, p.text, p.source) for p in bare] == [(p.id, p.text, p.source) for p in PASSAGES]
    assert {p.title for p in bare if p.title} <= {p.title for p in PASSAGES}
    dropped = sum(not p.title for p in bare) / len(bare)
    assert dropped == share if share in (0, 1) else abs(dropped - share) < 0.08


def test_the_choice_is_of_ids_only() -> None:
    bare = {p.id for p in without_titles(PASSAGES, 0.5) if not p.title}
    assert {p.id for p in without_titles(PASSAGES[::-1], 0.5) if not p.title} == bare
    assert {p.id for p in without_titles(PASSAGES, 0.25) if not p.title} < bare
