"""Segmenters tile texts; chunks of a document come back together."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_research.errors import DataError
from rag_research.extract.spans import (
    Source,
    bounded,
    check_tiling,
    map_spans,
    merge_passages,
    overlap,
)
from rag_research.registry import SEGMENTERS
from rag_research.text.chunks import WORD, chunk
from rag_research.types import Passage

TEXTS = st.text(alphabet="aB1 .!?:\n。é\u0627，\U0001f600", max_size=120)
SETTINGS: dict[str, dict[str, Any]] = {
    "sentences": {},
    "fixed": {"size": 3},
    "recursive": {"size": 12},
}


@pytest.fixture(params=sorted(SETTINGS))
def segmenter(request: pytest.FixtureRequest) -> Any:
    component = SEGMENTERS.get(request.param)
    return component(component.Config(**SETTINGS[request.param]))


@pytest.mark.parametrize("name", sorted(SETTINGS))
@given(texts=st.lists(TEXTS, max_size=4))
def test_pieces_tile_the_text(name: str, texts: list[str]) -> None:
    component = SEGMENTERS.get(name)
    cut = component(component.Config(**SETTINGS[name]))
    sources = [Source(str(i), "", text, {}) for i, text in enumerate(texts)]
    for text, spans in zip(texts, map_spans(sources, cut), strict=True):
        assert "".join(span.text for span in spans) == text
        assert all(span.text for span in spans)


def test_edges(segmenter: Any) -> None:
    assert segmenter.segment(["", "a", " \n "]) == [[], [(0, 1)], [(0, 3)]]
    assert segmenter.segment([]) == []


def test_recursive_prefers_stronger_separators() -> None:
    component = SEGMENTERS.get("recursive")
    text = "One two. Three.\n\nFour five six seven. Eight nine."
    pieces = component(component.Config(size=24)).segment([text])[0]
    assert [text[a:b] for a, b in pieces] == [
        "One two. Three.\n\n",
        "Four five six seven. ",
        "Eight nine.",
    ]


def test_recursive_keeps_to_the_size_where_words_allow() -> None:
    component = SEGMENTERS.get("recursive")
    text = "word " * 200
    pieces = component(component.Config(size=33)).segment([text])[0]
    assert max(end - start for start, end in pieces) == 30  # six words with their spaces


@pytest.mark.parametrize(
    ("intervals", "words"),
    [([(0, 2), (3, 5)], "starting at 2"), ([(0, 2)], "end at 2"), ([(0, 0)], "starting at 0")],
)
def test_pieces_that_do_not_tile_are_refused(intervals: list[tuple[int, int]], words: str) -> None:
    with pytest.raises(DataError, match=words):
        check_tiling("abcde", intervals)


def test_overlap_is_the_longest_shared_end() -> None:
    assert overlap("xx" + "ab" * 10, "ab" * 10 + "zz") == 20
    assert overlap("ends with the", "the start") == 0  # three letters are chance
    assert overlap("", "abc") == overlap("abc", "") == 0


def _brute_overlap(left: str, right: str) -> int:
    best = max(n for n in range(min(len(left), len(right)) + 1) if left.endswith(right[:n]))
    return best if best >= min(16, len(right)) else 0


@given(st.text("ab", max_size=60), st.text("ab", max_size=60))
def test_overlap_against_brute_force(left: str, right: str) -> None:
    assert overlap(left, right) == _brute_overlap(left, right)


def _words(count: int) -> str:
    return " ".join(f"word{i * i}" for i in range(count))


def test_chunks_of_a_document_are_merged() -> None:
    text = _words(400)
    ranges = chunk(text, 1200, 150, "characters")
    assert len(ranges) > 2
    passages = [Passage(f"a.txt#{i}", "A", text[s:e]) for i, (s, e) in enumerate(ranges, 1)]
    other = Passage("b", "B", "Alone.")
    merged = merge_passages([passages[1], other, passages[0], *passages[2:]])
    assert [source.id for source in merged] == ["a.txt", "b"]
    assert merged[0].text == text
    assert dict(merged[0].passages) == {p.id: r for p, r in zip(passages, ranges, strict=True)}
    assert merged[1].passages == {"b": (0, 6)}


def test_a_gap_in_the_numbers_is_a_line_break() -> None:
    merged = merge_passages([Passage("a#1", "A", "First part."), Passage("a#3", "A", "Third.")])
    assert merged[0].text == "First part.\nThird."
    assert merged[0].passages["a#3"] == (12, 18)


def test_numbers_of_different_titles_are_no_chunks() -> None:
    passages = [Passage(f"a#{n}", title, "Text.") for n, title in enumerate("ABA", 1)]
    merged = merge_passages([*passages, Passage("b#1", "B", "One."), Passage("b#2", "B", "Two.")])
    assert [(source.id, source.title) for source in merged] == [
        ("a#1", "A"), ("a#2", "B"), ("a#3", "A"), ("b", "B"),
    ]  # fmt: skip


def test_one_chunk_keeps_its_own_id() -> None:
    (source,) = merge_passages([Passage("a#7", "A", "Text.")])
    assert source.id == "a#7"


def test_map_spans_checks_the_segmenter() -> None:
    class Hole:
        @property
        def identity(self) -> dict[str, str]:
            return {"segmenter": "hole"}

        def segment(self, texts: list[str]) -> list[list[tuple[int, int]]]:
            return [[(0, 1)] for _ in texts]

    with pytest.raises(DataError, match="end at 1"):
        map_spans([Source("d", "", "abc", {})], Hole())


@given(
    st.lists(
        st.sampled_from(["a ", "b. ", "cc\n", "d! ", "\u76d0", "\u0939\u093f ", " "]), max_size=80
    ),
    st.lists(st.integers(0, 100), max_size=4),
    st.integers(1, 12),
)
def test_bounded_spans_tile_the_text(pieces: list[str], cuts: list[int], words: int) -> None:
    text = "".join(pieces)
    edges = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    spans = list(pairwise(edges)) if text else []
    found = bounded(text, spans, words)
    check_tiling(text, found)
    assert all(len(WORD.findall(text, start, end)) <= words for start, end in found)
    assert set(edges) <= {0, len(text), *(start for start, _ in found)}


def test_long_spans_are_cut_between_sentences() -> None:
    sentences = [" ".join(f"s{n}w{i}" for i in range(6)) + ". " for n in range(5)]
    text = "".join(sentences)
    found = bounded(text, [(0, len(text))], 14)
    assert [text[start:end].count(".") for start, end in found] == [2, 2, 1]
    assert bounded(text, [(0, len(text))], 30) == [(0, len(text))]
    long = " ".join(f"w{n}" for n in range(25))  # one sentence
    assert [len(long[s:e].split()) for s, e in bounded(long, [(0, len(long))], 10)] == [10, 10, 5]
