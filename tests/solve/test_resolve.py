import pytest

from rag_research.errors import ParseError
from rag_research.solve.resolve import (
    only_verbatim,
    propositions_and_chunks,
    propositions_only,
    read_filled,
    trust,
)
from rag_research.types import Passage, Triplet

DIRECTOR = Triplet("Salt Road", "director", "?d")
BIRTH = Triplet("?d", "born in", "?place")


def test_triplets_written_out() -> None:
    value = {"triplets": [["Salt Road", "director", "Mia Orr"]]}
    assert read_filled([DIRECTOR], value) == (Triplet("Salt Road", "director", "Mia Orr"),)
    assert read_filled([DIRECTOR], {"triplets": []}) == ()


def test_values_by_variable_fill_the_first_triplet_that_has_it() -> None:
    assert read_filled([DIRECTOR, BIRTH], {"?d": "Mia Orr", "?x": "no one"}) == (
        Triplet("Salt Road", "director", "Mia Orr"),
    )
    assert read_filled([BIRTH], {"?d": ["Mia Orr", "Jo"], "?place": 1931}) == (
        Triplet("Mia Orr", "born in", "1931"),
    )


@pytest.mark.parametrize(
    "value", [{}, {"?d": ""}, {"?d": None}, {"?d": "?"}, {"?d": []}, {"?d": False}, {"?d": [True]}]
)
def test_nothing_found(value: dict[str, object]) -> None:
    assert read_filled([DIRECTOR], value) == ()


@pytest.mark.parametrize("value", ["Mia Orr", {"director": "Mia Orr"}, 7])
def test_anything_else_is_a_parse_error(value: object) -> None:
    with pytest.raises(ParseError):
        read_filled([DIRECTOR], value)


def test_contexts() -> None:
    chunks = [Passage("1", "Salt Road", "A film."), Passage("2", "", "Untitled.")]
    assert propositions_and_chunks(["a b c"], chunks) == (
        "a b c\n\nSalt Road\nA film.\n\nUntitled."
    )
    assert propositions_only(["a b c", "d e f"], chunks) == "a b c\nd e f"
    assert propositions_and_chunks([], []) == ""


def test_only_what_was_told_is_kept() -> None:
    told = "Salt Road was directed by Mia Orr in 1,931.\nWho directed Salt Road?"
    good = Triplet("Salt Road", "director", "mia orr")
    half = Triplet("Salt Road", "director", "?d")
    number = Triplet("Salt Road", "year", "1931")
    invented = Triplet("Salt Road", "director", "Elin Marrow")
    part = Triplet("Salt Road", "director", "Mia Or")
    assert only_verbatim([good, half, invented, part], told) == (good, half)
    assert only_verbatim([number], told) == ()
    assert trust([good, invented], told) == (good, invented)
