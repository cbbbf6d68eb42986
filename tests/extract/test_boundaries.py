"""Decoding: hand-computed cuts, and all cut sequences tried one by one."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_research.config.build import build
from rag_research.errors import ConfigError
from rag_research.extract.boundaries import DecodingConfig, decode, viterbi


def test_threshold_is_a_probability() -> None:
    logits = np.array([-2.0, 0.1, 2.0], dtype=np.float32)  # p = .12, .52, .88
    words = [5, 5, 5, 5]
    assert decode(logits, words, DecodingConfig("threshold", 0.5)) == [1, 2]
    assert decode(logits, words, DecodingConfig("threshold", 0.6)) == [2]
    assert decode(logits, words, DecodingConfig("viterbi", 0.6)) == [2]


def test_lengths_decide_between_near_candidates() -> None:
    margins = np.array([1.0, 1.5, -1.0, 0.5], dtype=np.float32)
    words = [4, 4, 4, 4, 4]
    assert viterbi(margins, words) == [0, 1, 3]
    assert viterbi(margins, words, min_words=8) == [1]  # 1 and 3 leave the last span too short
    assert viterbi(margins, words, max_words=8) == [0, 1, 3]
    # Every cut costs: one has to be made, 3 would leave sixteen words before it.
    assert viterbi(-abs(margins), words, max_words=12) == [2]


def test_no_candidates() -> None:
    assert viterbi(np.zeros(0, dtype=np.float32), [3], 5, 9) == []
    assert viterbi(np.zeros(0, dtype=np.float32), [], 5, 9) == []


def test_short_texts_stay_whole() -> None:
    assert viterbi(np.full(4, 3.0, dtype=np.float32), [1] * 5, min_words=20) == []


def test_a_long_unit_stays_whole() -> None:
    assert viterbi(np.full(2, -1.0, dtype=np.float32), [3, 50, 3], max_words=10) == [0, 1]


@given(st.data())
def test_viterbi_against_all_sequences(data: st.DataObject) -> None:
    words = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=9))
    numbers = st.floats(-3, 3, width=32)
    margins = data.draw(st.lists(numbers, min_size=len(words) - 1, max_size=len(words) - 1))
    low = data.draw(st.integers(0, 9))
    high = data.draw(st.one_of(st.just(0), st.integers(max(low, 1), 25)))
    best = None
    for count in range(len(words)):
        for cuts in itertools.combinations(range(len(margins)), count):
            edges = [0, *(sum(words[: c + 1]) for c in cuts), sum(words)]
            lengths = np.diff(edges)
            if (lengths >= low).all() and (not high or (lengths <= high).all()):
                value = sum(margins[c] for c in cuts)
                best = value if best is None else max(best, value)
    if best is None:
        return  # no sequence keeps to the lengths
    found = viterbi(np.array(margins, dtype=np.float32), words, low, high)
    assert sum(margins[c] for c in found) == pytest.approx(best, abs=1e-5)


def test_linear_time_on_a_long_document() -> None:
    generator = np.random.default_rng(0)
    margins = generator.normal(size=200_000).astype(np.float32)
    words = generator.integers(1, 40, 200_001)
    cuts = viterbi(margins, words, 30, 200)
    lengths = np.diff([0, *np.cumsum(words)[cuts], words.sum()])
    assert lengths.min() >= 30 and lengths.max() <= 200


@pytest.mark.parametrize(
    "values", [{"threshold": 0.0}, {"threshold": 1.0}, {"min_words": 9, "max_words": 5}]
)
def test_impossible_settings_are_refused(values: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        build(DecodingConfig, values)
