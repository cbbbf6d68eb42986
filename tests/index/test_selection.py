import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rag_research.index.selection import Rows, Scores, top_hits
from rag_research.types import Hit


def _search(scores: list[list[float]], ids: list[str], k: int) -> list[list[Hit]]:
    """A library-like source that cuts ties by position, last first."""
    table = np.asarray(scores, dtype=np.float32)

    def candidates(which: NDArray[np.intp], m: int) -> tuple[Scores, Rows]:
        chosen = table[which]
        rows = np.argsort(chosen[:, ::-1], axis=1, kind="stable")[:, ::-1][:, :m]
        rows = np.ascontiguousarray(chosen.shape[1] - 1 - rows)
        order = np.argsort(-np.take_along_axis(chosen, rows, 1), axis=1, kind="stable")
        rows = np.take_along_axis(rows, order, 1)
        return np.take_along_axis(chosen, rows, 1), rows

    return top_hits(candidates, ids, len(table), k)


def test_ties_at_the_cut_are_broken_by_id_however_long_they_are() -> None:
    ids = [f"{i:03d}" for i in range(200)]
    hits = _search([[0.5] * 200, [0.0] * 199 + [1.0]], ids, 3)
    assert [hit.id for hit in hits[0]] == ["000", "001", "002"]
    assert [hit.id for hit in hits[1]] == ["199", "000", "001"]


def test_differences_in_the_last_bits_are_ties() -> None:
    hits = _search([[0.30000001, 0.3, 0.30000003]], ["c", "a", "b"], 2)
    assert hits == [[Hit("a", 0.3), Hit("b", 0.3)]]


def test_missing_candidates_are_left_out() -> None:
    def candidates(which: NDArray[np.intp], m: int) -> tuple[Scores, Rows]:
        scores = np.full((len(which), m), -np.inf, dtype=np.float32)
        rows = np.full((len(which), m), -1, dtype=np.int64)
        scores[:, 0], rows[:, 0] = 0.25, 1
        return scores, rows

    assert top_hits(candidates, ["a", "b", "c"], 2, 3) == [[Hit("b", 0.25)]] * 2


@pytest.mark.parametrize("k", [0, -1])
def test_nothing_is_asked_for_nothing(k: int) -> None:
    assert _search([[1.0, 2.0]], ["a", "b"], k) == [[]]


@given(st.data(), st.integers(1, 60), st.integers(1, 70))
def test_it_equals_sorting_everything(data: st.DataObject, count: int, k: int) -> None:
    level = st.sampled_from([0.0, 0.25, 0.5])
    scores = data.draw(st.lists(level, min_size=count, max_size=count))
    ids = data.draw(st.permutations([f"p{i}" for i in range(count)]))
    expected = sorted(zip(ids, scores, strict=True), key=lambda pair: (-pair[1], pair[0]))[:k]
    assert _search([scores], ids, k) == [[Hit(id, score) for id, score in expected]]
