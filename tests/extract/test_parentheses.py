"""Parentheses of encyclopaedic first sentences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_research.extract.parentheses import cut_parentheses, parenthesis_triplets, tidy


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        ("3 May 1950 – 4 June 2000", ["was born on 3 May 1950", "died on 4 June 2000"]),
        ("May 3, 1950 - June 4, 2000", ["was born on May 3, 1950", "died on June 4, 2000"]),
        ("1950–2000", ["was born in 1950", "died in 2000"]),
        ("born 3 May 1950", ["was born on 3 May 1950"]),
        ("born 1950 in Orm, Tavrinia", ["was born in 1950", "was born in Orm, Tavrinia"]),
        (
            "born 3 May 1950 in Orm – died 4 June 2000 in Vell",
            ["was born on 3 May 1950", "was born in Orm", "died on 4 June 2000", "died in Vell"],
        ),
        (
            "Orm, 3 May 1950 – Vell, 4 June 2000",
            ["was born on 3 May 1950", "was born in Orm", "died on 4 June 2000", "died in Vell"],
        ),
        (
            "born Ilka Sund, 3 May 1950 – 4 June 2000",
            ["was born as Ilka Sund", "was born on 3 May 1950", "died on 4 June 2000"],
        ),
        (
            "born Ilka Sund on May 3, 1950",
            ["was born as Ilka Sund", "was born on May 3, 1950"],
        ),
        ("née Sund; born 1950", ["was born in 1950", "was born as Sund"]),
        ("also known as Vee", ["is also known as Vee"]),
        ("VOT", ["is also known as VOT"]),
        ("a small town", []),
        ("", []),
    ],
)
def test_facts(content: str, facts: list[str]) -> None:
    found = [t.proposition for t in parenthesis_triplets("X", content, person=True)]
    assert found == [f"X {fact}" for fact in facts]


def test_bare_years_of_a_thing_are_no_life() -> None:
    [fact] = parenthesis_triplets("The Orm War", "1950–1953", person=False)
    assert fact.proposition == "The Orm War lasted from 1950 to 1953"


def test_tidy_undoes_tokenised_spacing() -> None:
    assert tidy("Orm- Vell( born 1950 )  is") == "Orm-Vell (born 1950) is"
    assert tidy("21 February 188524 July 1957") == "21 February 1885 – 24 July 1957"


def test_cut_keeps_positions() -> None:
    text, found = cut_parentheses("Ilka (born 1950) met Orm (a (small) town).")
    assert text == "Ilka met Orm."
    assert [(text[:position], content) for position, content in found] == [
        ("Ilka", "born 1950"),
        ("Ilka met Orm", "a  town"),
    ]


@given(st.text(alphabet="ab( )", max_size=40))
def test_cut_never_fails_and_leaves_no_closed_pair(text: str) -> None:
    rest, found = cut_parentheses(text)
    assert all(0 <= position <= len(rest) for position, _ in found)
    assert len(rest) <= len(text)
