"""Chunks of passages: offsets, ids, titles."""

from rag_research.index.chunks import Chunk, chunk_passages
from rag_research.types import Passage


def test_by_hand() -> None:
    passages = [Passage("a", "T", "abcdefgh"), Passage("b", "", "xyz"), Passage("c", "T", "")]
    assert chunk_passages(passages, 5, 2) == [
        Chunk("a@0", "a", 0, 5, "T\nabcde"),
        Chunk("a@3", "a", 3, 8, "T\ndefgh"),
        Chunk("b", "b", 0, 3, "xyz"),
        Chunk("c", "c", 0, 0, "T\n"),
    ]


def test_short_passages_are_what_passage_indexes_hold() -> None:
    passage = Passage("a", "T", "x" * 1200)
    (chunk,) = chunk_passages([passage], 1200, 150)
    assert chunk.contents == passage.contents
    assert len(chunk_passages([Passage("a", "T", "x" * 1201)], 1200, 150)) == 2
