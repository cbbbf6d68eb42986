"""The state of a question: rounds, what was found, which passages it rests on."""

from dataclasses import replace

import pytest

from rag_research.graph.subgraph import Element, Subgraph
from rag_research.solve.trajectory import Trajectory, is_unknown
from rag_research.types import Hit


def element(id: str, score: float, *passages: str) -> Element:
    return Element(id, "chunk", f"text of {id}", score, passages)


A, B = element("chunk:a", 0.9, "a"), element("chunk:b", 0.5, "b")
C = element("chunk:c", 0.7, "c", "a", "d")
START = Trajectory.start("Who?", Subgraph((A, B)))


def test_rounds_are_appended_and_never_changed() -> None:
    state = START.keep([B]).answered("Unknown")
    later = state.evolved("When?", Subgraph((C,)), ("chunk:c",))
    assert (later.query, later.subgraph, later.question) == ("When?", Subgraph((C,)), "Who?")
    assert later.rounds[0] == state.present
    assert START.present.answer == ""
    assert later.chunks_read == {"chunk:c"}
    assert later.chunks == {"chunk:a", "chunk:b", "chunk:c"}


def test_findings_leave_out_what_was_not_found() -> None:
    state = START.answered("Unknown").evolved("When?", Subgraph()).answered("1921")
    assert START.findings == "nothing"
    assert state.findings == "When? 1921"
    assert state.evolved("When?", Subgraph()).answered("1921").findings == "When? 1921"


def test_evidence_is_that_of_all_rounds_each_text_once() -> None:
    state = START.evolved("When?", Subgraph((C, A)))
    assert state.evidence == "text of chunk:a\n\ntext of chunk:b\n\ntext of chunk:c"


def test_what_does_not_fit_is_left_out_and_kept_elements_come_first() -> None:
    state = replace(START.keep([B]).evolved("When?", Subgraph((C, A))), words=6)
    assert (state.evidence, state.left_out) == ("text of chunk:a\n\ntext of chunk:b", 1)
    state = state.keep([C])  # three words each: those kept in any round, in their order
    assert (state.evidence, state.left_out) == ("text of chunk:b\n\ntext of chunk:c", 1)
    assert state.present_evidence == "text of chunk:c\n\ntext of chunk:a"
    state = replace(state, words=4)
    assert (state.evidence, state.left_out) == ("text of chunk:b", 2)
    assert state.present_evidence == state.kept_evidence == "text of chunk:c"


def test_passages_first_of_what_was_kept_then_by_score() -> None:
    state = START.keep([B]).evolved("When?", Subgraph((C,)))
    assert state.passages() == (Hit("b", 0.5), Hit("a", 0.9), Hit("c", 0.7), Hit("d", 0.7))
    assert Trajectory.start("Who?", Subgraph()).passages() == ()


def test_a_query_counts_as_asked_however_it_is_spelled() -> None:
    assert START.asked("who")
    assert not START.asked("Who was it?")


@pytest.mark.parametrize(
    "answer", ["", "Unknown", "unknown.", " UNKNOWN", "Not stated.", "...", "?"]
)
def test_unknown(answer: str) -> None:
    assert is_unknown(answer)


@pytest.mark.parametrize("answer", ["no", "none", "The Unknown Soldier", "0", "A", "The The", "an"])
def test_known(answer: str) -> None:
    assert not is_unknown(answer)
