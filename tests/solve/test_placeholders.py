import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_research.solve.placeholders import (
    count_variables,
    is_variable,
    known_text,
    match,
    substitute,
    unique,
)
from rag_research.types import Triplet

names = st.from_regex(r"\?[A-Za-z0-9_]{1,8}", fullmatch=True)
literals = st.text(min_size=1).filter(lambda s: s.strip() and not is_variable(s))


@pytest.mark.parametrize(
    ("slot", "expected"),
    [
        ("?", True),
        ("?director", True),
        ("?x_1", True),
        (" ?x ", True),
        ("Whatever Happened to Baby Jane?", False),
        ("? and the Mysterians", False),
        ("?two words", False),
        ("??", False),
        ("Who?", False),
        ("", False),
    ],
)
def test_a_slot_is_a_variable_only_as_a_whole(slot: str, expected: bool) -> None:
    assert is_variable(slot) is expected


def test_variables_are_counted_by_slot_not_by_character() -> None:
    film = "Whatever Happened to Baby Jane?"
    assert count_variables(Triplet(film, "director", "?director")) == 1
    assert count_variables(Triplet(film, "is", "What Is It?")) == 0
    assert count_variables(Triplet("?a", "?", "?a")) == 3


def test_known_text_leaves_variables_out() -> None:
    assert known_text(Triplet("Inverness", "mayor", "?who")) == "Inverness mayor"
    assert known_text(Triplet("?", "wrote", "What Is It?")) == "wrote What Is It?"


def test_substitute_reaches_every_slot_and_spares_the_anonymous_variable() -> None:
    bound = substitute(Triplet("?x", "?", "?y"), {"?x": "Ann", "?": "no"})
    assert bound == Triplet("Ann", "?", "?y")


def test_match_binds_named_variables() -> None:
    pattern = Triplet("Inception", "director", "?d")
    assert match(pattern, Triplet("Inception", "directed by", "C. Nolan")) == {"?d": "C. Nolan"}
    assert match(pattern, Triplet("the inception.", "director", "C. Nolan")) == {"?d": "C. Nolan"}
    assert match(pattern, Triplet("Memento", "director", "C. Nolan")) is None
    assert match(Triplet("Inception", "director", "?"), Triplet("Inception", "director", "N")) == {}


def test_match_wants_one_value_for_a_repeated_variable() -> None:
    pattern = Triplet("?x", "knows", "?x")
    assert match(pattern, Triplet("Ann", "knows", "Ann")) == {"?x": "Ann"}
    assert match(pattern, Triplet("Ann", "knows", "Bob")) is None


def test_match_leaves_what_the_fact_leaves_open() -> None:
    assert match(Triplet("?f", "directed by", "?d"), Triplet("Tenet", "directed by", "?d")) == {
        "?f": "Tenet"
    }


def test_other_scripts_match_themselves() -> None:
    assert match(Triplet("東京", "首都", "?c"), Triplet("東京", "首都", "日本")) == {"?c": "日本"}
    assert match(Triplet("东", "a", "?c"), Triplet("西", "a", "日本")) is None


@given(names, literals, literals)
def test_matching_then_substituting_gives_the_fact(name: str, known: str, value: str) -> None:
    pattern, fact = Triplet(known, "r", name), Triplet(known, "r", value)
    bindings = match(pattern, fact)
    assert bindings == {name: value}
    assert substitute(pattern, bindings) == fact


@given(st.lists(st.builds(Triplet, literals, literals, literals)))
def test_unique_keeps_first_occurrences_in_order(triplets: list[Triplet]) -> None:
    kept = unique(triplets + triplets)
    assert list(kept) == sorted(set(triplets), key=triplets.index)
