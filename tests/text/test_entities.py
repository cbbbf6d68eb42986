"""Names: keys, titles, capitalised spans."""

import pytest

from rag_research.text.entities import capitalised_spans, entity_key, plain_title


def test_entity_key_joins_spellings() -> None:
    assert entity_key("The Beatles") == entity_key("beatles")
    assert entity_key("Saint-Denis") == entity_key("saint denis")
    assert entity_key("The") == "the"  # a name that is an article keeps it
    assert entity_key("A Bridge") != entity_key("Bridges")


@pytest.mark.parametrize(
    ("title", "plain"),
    [
        ("Machine (band)", "Machine"),
        ("Machine", "Machine"),
        ("(500) Days of Summer", "(500) Days of Summer"),
        ("(parenthesis)", "(parenthesis)"),
    ],
)
def test_plain_title(title: str, plain: str) -> None:
    assert plain_title(title) == plain


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("Who is the mother of Anna of Bohemia?", ["Anna of Bohemia"]),
        ("When did J. K. Orm leave New York City?", ["J. K. Orm", "New York City"]),
        ("The film opened in Paris. Critics liked it.", ["Paris", "Critics"]),
        ("Apollo 11 landed in 1969.", ["Apollo 11"]),
        ("Ilka\nIlka Orm left", ["Ilka", "Ilka Orm"]),
        ("nothing here", []),
        ("東京は大きい", []),
        ("", []),
    ],
)
def test_capitalised_spans(text: str, spans: list[str]) -> None:
    assert capitalised_spans(text) == spans
