import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_research.text.chunks import WORD, chunk, token_offsets

SIZES = st.integers(1, 12).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1)))


def pieces(text: str, size: int, overlap: int, unit: str = "words") -> list[str]:
    return [text[start:end] for start, end in chunk(text, size, overlap, unit)]  # type: ignore[arg-type]


def test_words_by_hand() -> None:
    assert pieces("a b c d e", 3, 1) == ["a b c ", "c d e"]
    assert pieces("a b c d e f", 3, 1) == ["a b c ", "c d e ", "e f"]
    assert pieces("  a b", 5, 2) == ["  a b"]
    assert pieces("a b c", 2, 0) == ["a b ", "c"]


def test_characters_by_hand() -> None:
    assert pieces("abcdefgh", 4, 2, "characters") == ["abcd", "cdef", "efgh"]


def test_a_text_without_words_has_no_chunks() -> None:
    assert chunk("", 3, 1) == chunk(" \n ", 3, 1) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我住在北京", ["我住", "在北", "京"]),
        ("東京 2020 へ", ["東京 ", "2020 へ"]),
        ("القاهرة عاصمة مصر", ["القاهرة عاصمة ", "مصر"]),
        ("👩‍👩‍👧 🚢 ok", ["👩‍👩‍👧 🚢 ", "ok"]),
    ],
)
def test_words_of_other_scripts(text: str, expected: list[str]) -> None:
    assert pieces(text, 2, 0) == expected


@given(st.text(max_size=200), SIZES, st.sampled_from(["words", "characters"]))
def test_windows_cover_the_text_and_share_the_overlap(
    text: str, sizes: tuple[int, int], unit: str
) -> None:
    size, overlap = sizes
    windows = chunk(text, size, overlap, unit)  # type: ignore[arg-type]
    units = [m.start() for m in WORD.finditer(text)] if unit == "words" else list(range(len(text)))
    if not units:
        assert windows == []
        return
    assert windows[0][0] == 0
    assert windows[-1][1] == len(text)

    def inside(start: int, end: int) -> int:
        return sum(start <= u < end for u in units)

    for (_, end), (start, _) in itertools.pairwise(windows):
        assert start <= end  # nothing between two windows is lost
        assert inside(start, end) == overlap
    assert all(inside(*window) == size for window in windows[:-1])
    assert overlap < inside(*windows[-1]) <= size or len(windows) == 1


@given(st.text(max_size=200), st.integers(1, 12))
def test_without_overlap_windows_tile_the_text(text: str, size: int) -> None:
    assert "".join(pieces(text, size, 0, "characters")) == text


def test_tokens_of_a_real_tokenizer_cover_the_text() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    raw = tokenizers.Tokenizer(tokenizers.models.BPE())
    raw.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    raw.train_from_iterator(["the cat sat on the mat"], trainer)
    unit = token_offsets(transformers.PreTrainedTokenizerFast(tokenizer_object=raw))
    text = "the cat 🚢 sat 北京 on"  # bytes of one character are several tokens
    for size, overlap in [(1, 0), (3, 1), (100, 20)]:
        windows = chunk(text, size, overlap, unit)
        assert windows[0][0] == 0
        assert windows[-1][1] == len(text)
        assert all(start < end for start, end in windows)
        assert all(b[0] <= a[1] for a, b in itertools.pairwise(windows))


def test_a_very_long_text_is_cut_in_one_pass() -> None:
    windows = chunk("word " * 300_000, 1200, 100)
    assert len(windows) == 1 + -(-(300_000 - 1200) // 1100)


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (3, 3), (3, -1)])
def test_sizes_out_of_range_are_refused(size: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="0 <= overlap < size"):
        chunk("a b", size, overlap)
