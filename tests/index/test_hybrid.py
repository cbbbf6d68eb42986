from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_research.errors import ConfigError
from rag_research.index.base import Retriever
from rag_research.index.hybrid import Hybrid, fuse
from rag_research.types import Hit


class Fixed:
    """Gives the same list to every query, cut at k."""

    def __init__(self, **scores: float) -> None:
        self.hits = sorted(
            (Hit(id, score) for id, score in scores.items()), key=lambda h: (-h.score, h.id)
        )
        self.asked: list[int] = []

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        self.asked.append(k)
        return [self.hits[:k] for _ in queries]


def test_min_max_is_the_hand_computed_mean() -> None:
    a = Fixed(x=10.0, y=6.0, z=2.0)
    b = Fixed(y=0.9, w=0.8, x=0.4)
    hybrid = Hybrid([a, b])
    assert isinstance(hybrid, Retriever)
    (hits,) = hybrid.search(["q"], 10)
    # a: x 1, y 1/2, z 0; b: y 1, w 4/5, x 0; mean of the two.
    assert [(h.id, pytest.approx(h.score)) for h in hits] == [
        ("y", 0.75),
        ("x", 0.5),
        ("w", 0.4),
        ("z", 0.0),
    ]


def test_reciprocal_rank_is_the_hand_computed_sum() -> None:
    lists = [Fixed(x=10.0, y=6.0).hits, Fixed(y=0.9, w=0.8, x=0.4).hits]
    hits = fuse(lists, "reciprocal_rank", 2)
    assert [h.id for h in hits] == ["y", "x"]
    assert [h.score for h in hits] == pytest.approx([1 / 62 + 1 / 61, 1 / 61 + 1 / 63])


def test_equal_scores_count_fully_and_ties_go_by_id() -> None:
    (hits,) = Hybrid([Fixed(b=0.5, a=0.5), Fixed()]).search(["q"], 2)
    assert hits == [Hit("a", 0.5), Hit("b", 0.5)]


def test_nothing_found_is_nothing_fused() -> None:
    assert Hybrid([Fixed(), Fixed()]).search(["q", ""], 3) == [[], []]
    assert Hybrid([Fixed(a=1.0)]).search([], 3) == []
    assert Hybrid([Fixed(a=1.0)]).search(["q"], 0) == [[]]


def test_depth_is_raised_to_k() -> None:
    retriever = Fixed(a=1.0)
    Hybrid([retriever], depth=20).search(["q"], 5)
    Hybrid([retriever], depth=20).search(["q"], 50)
    assert retriever.asked == [20, 50]


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ConfigError, match="at least one retriever"):
        Hybrid([])
    with pytest.raises(ConfigError, match="depth"):
        Hybrid([Fixed()], depth=0)
    with pytest.raises(ConfigError, match="'mean'"):
        Hybrid([Fixed()], fusion="mean")  # type: ignore[arg-type]


SCORES = st.dictionaries(st.text("abcdef", min_size=1, max_size=2), st.floats(-5, 5), max_size=12)


@given(SCORES, SCORES, st.sampled_from(["min_max", "reciprocal_rank"]), st.integers(1, 8))
def test_hits_are_few_enough_and_sorted(
    a: dict[str, float], b: dict[str, float], fusion: str, k: int
) -> None:
    (hits,) = Hybrid([Fixed(**a), Fixed(**b)], fusion).search(["q"], k)  # type: ignore[arg-type]
    assert len(hits) == min(k, len(a.keys() | b.keys()))
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.id))
    (swapped,) = Hybrid([Fixed(**b), Fixed(**a)], fusion).search(["q"], k)  # type: ignore[arg-type]
    assert [h.score for h in swapped] == pytest.approx([h.score for h in hits])
