import json
from typing import Any

import pytest

from rag_research.errors import ParseError
from rag_research.solve.triplet_lines import read_triplets, triplet_lines
from rag_research.types import Triplet

FACT = Triplet("Salt Road", "director", "Mia Orr")
ROW = list(FACT)


@pytest.mark.parametrize(
    "value",
    [
        {"triplets": [ROW]},
        {"Triples": [ROW]},
        [ROW],
        ROW,
        {"triplets": [{"subject": ROW[0], "predicate": ROW[1], "object": ROW[2]}]},
        {"head": ROW[0], "relation": ROW[1], "tail": ROW[2]},
        [ROW, ["only", "two"], [1, 2, 3], None, ["", "empty", "x"]],
    ],
)
def test_forms_a_model_may_reply_in(value: Any) -> None:
    assert read_triplets(value) == (FACT,)


@pytest.mark.parametrize(
    ("slot", "read"),
    [
        ("?father-in-law", "?father_in_law"),
        ("?release date", "?release_date"),
        ("?x", "?x"),
        ("?", "?"),
        ("? and the Mysterians", "? and the Mysterians"),
        ("Who? What?", "Who? What?"),
        ("?Qué?", "?Qué"),
        ("?d.", "?d"),
        ("?d_.", "?d_"),
        ("?d_", "?d_"),
    ],
)
def test_variable_names_as_models_write_them(slot: str, read: str) -> None:
    assert read_triplets([["Ann", "is", slot]]) == (Triplet("Ann", "is", read),)


def test_an_empty_list_is_a_valid_reply() -> None:
    assert read_triplets({"triplets": []}) == ()


@pytest.mark.parametrize("value", ["text", 7, {"other": 1}, [["a", "b"]], {"triplets": "a b c"}])
def test_anything_else_is_a_parse_error(value: Any) -> None:
    with pytest.raises(ParseError):
        read_triplets(value)


def test_what_is_shown_can_be_read_back() -> None:
    lines = triplet_lines([FACT, Triplet("?", "said", 'a "quote"')])
    assert read_triplets([json.loads(line) for line in lines.splitlines()]) == (
        FACT,
        Triplet("?", "said", 'a "quote"'),
    )
