"""Pk, WindowDiff and boundary F1: by hand, and against nltk and segeval."""

import random

import numpy as np
import pytest

from rag_research.extract.cut_scores import (
    cut_words,
    matched_cuts,
    pk,
    score_cuts,
    score_words,
    window,
    window_diff,
)


def test_by_hand() -> None:
    # Ten words, a true cut after five, one predicted after six; k = 2, pairs (i, i + 2), i < 8.
    # The true cut parts the pairs i = 4, 3, the predicted one i = 5, 4: they differ in 3 and 5.
    assert window(10, [5]) == 2
    assert pk(10, [5], [6]) == pytest.approx(2 / 8)
    assert window_diff(10, [5], [6]) == pytest.approx(2 / 8)
    # Two cuts where one belongs: WindowDiff sees it, Pk does not.
    assert pk(10, [5], [5, 5]) == 0.0
    assert window_diff(12, [6], [5, 6], k=3) > pk(12, [6], [5, 6], k=3)


def test_perfect_and_empty() -> None:
    assert pk(30, [10, 20], [10, 20]) == window_diff(30, [10, 20], [10, 20]) == 0.0
    assert pk(0, [], []) == window_diff(1, [], []) == 0.0
    scores = score_words([(30, [10, 20], []), (30, [15], [])])
    assert scores.f1 == scores.recall == scores.precision == scores.cuts == 0.0


def test_matching_uses_each_cut_once() -> None:
    assert matched_cuts([10], [8, 9, 12]) == 1
    assert matched_cuts([10, 12], [11]) == 1
    assert matched_cuts([10, 12], [8, 14]) == 2
    assert matched_cuts([10], [13]) == 0


def test_words_do_not_depend_on_a_tokenizer() -> None:
    text = "One two, three. Four five."
    assert cut_words(text, [16])[0] == 5
    assert cut_words(text, [16, 15, 4])[1].tolist() == [3, 3, 1]
    assert cut_words("你好 ab", [1])[0] == 3


def test_score_cuts_ignores_cuts_at_the_ends() -> None:
    text = "a b c d e f g h i j"
    scores = score_cuts([text], [[10]], [[0, 10, len(text)]])
    assert (scores.pk, scores.f1, scores.cuts) == (0.0, 100.0, 1.0)


def _random_cuts(generator: random.Random, length: int) -> list[int]:
    return sorted(generator.sample(range(1, length), generator.randint(0, length // 4)))


@pytest.mark.parametrize("seed", range(20))
def test_against_nltk(seed: int) -> None:
    segmentation = pytest.importorskip("nltk.metrics.segmentation")
    generator = random.Random(seed)
    length = generator.randint(12, 80)
    true, found = _random_cuts(generator, length), _random_cuts(generator, length)
    k = generator.randint(2, 6)

    def text(cuts: list[int]) -> str:  # nltk marks gaps; a gap string has N - 1 places
        return "".join("1" if i in cuts else "0" for i in range(1, length))

    # nltk's windows hold k gaps, so they are the ones between words i and i + k.
    ours = window_diff(length, true, found, k)
    assert ours == pytest.approx(segmentation.windowdiff(text(true), text(found), k))
    assert pk(length, true, found, k) == pytest.approx(segmentation.pk(text(true), text(found), k))


@pytest.mark.parametrize("seed", range(10))
def test_pk_against_segeval(seed: int) -> None:
    segeval = pytest.importorskip("segeval")
    generator = random.Random(seed)
    length = generator.randint(20, 60)
    true, found = _random_cuts(generator, length), _random_cuts(generator, length)
    masses = [tuple(int(m) for m in np.diff([0, *cuts, length])) for cuts in (true, found)]
    k = generator.randint(2, 5)
    theirs = segeval.pk(masses[1], masses[0], window_size=k)
    assert pk(length, true, found, k) == pytest.approx(float(theirs))
