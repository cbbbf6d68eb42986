"""Sentences: hand-written borders, and the property that nothing is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_research.text.sentences import sentence_offsets, split_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It rained. We left.", ["It rained.", "We left."]),
        ("Dr. Orm met J. R. Vell in St. Ives. He left.", None),
        ("It cost 3.5 crowns. Why? Nobody knew!", ["It cost 3.5 crowns.", "Why?", "Nobody knew!"]),
        ("It moved to the U.S. in May. It grew.", ["It moved to the U.S. in May.", "It grew."]),
        ('"Go." He went.', ['"Go."', "He went."]),
        ("今日は晴れ。明日は雨！傘がある？", ["今日は晴れ。", "明日は雨！", "傘がある？"]),
        ("هل جاء؟ نعم جاء.", ["هل جاء؟", "نعم جاء."]),
        ("A heading\n\nThe text begins", ["A heading", "The text begins"]),
        ("no end", ["no end"]),
        ("", []),
        ("  \n ", []),
    ],
)
def test_borders(text: str, sentences: list[str] | None) -> None:
    expected = (
        ["Dr. Orm met J. R. Vell in St. Ives.", "He left."] if sentences is None else sentences
    )
    assert split_sentences(text) == expected


@given(st.text(alphabet="aB. \n!?。؟\"')e1", max_size=60))
def test_offsets_tile_the_text(text: str) -> None:
    offsets = sentence_offsets(text)
    assert "".join(text[a:b] for a, b in offsets) == text
    assert all(a < b for a, b in offsets)
    if text.strip():
        assert all(text[a:b].strip() for a, b in offsets)
