"""Verdicts in whatever form a model writes them."""

import pytest

from rag_research.errors import ParseError
from rag_research.solve.discriminate import Verdict, read_verdict
from rag_research.types import Triplet

OPEN = ["Elin", "born in", "?"]


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        ({"sufficient": True, "missing": []}, Verdict(True)),
        ({"sufficient": "yes"}, Verdict(True)),
        ({"Sufficient": "FALSE", "triples": [OPEN]}, Verdict(False, (Triplet(*OPEN),))),
        ({"sufficient": False, "missing": OPEN}, Verdict(False, (Triplet(*OPEN),))),
        ({"sufficient": False, "missing": [OPEN, OPEN]}, Verdict(False, (Triplet(*OPEN),))),
        ({"sufficient": False, "missing": [["a", "b"]]}, Verdict(False)),
        ({"sufficient": False}, Verdict(False)),
        # It contradicts itself: an open fact counts, a closed one does not.
        ({"sufficient": True, "missing": [OPEN]}, Verdict(False, (Triplet(*OPEN),))),
        ({"sufficient": True, "missing": [["Elin", "born in", "Keld"]]}, Verdict(True)),
    ],
)
def test_forms(value: object, verdict: Verdict) -> None:
    assert read_verdict(value) == verdict


def test_at_most_three_facts() -> None:
    rows = [[f"s{n}", "p", "?"] for n in range(5)]
    assert len(read_verdict({"sufficient": False, "missing": rows}).missing) == 3


@pytest.mark.parametrize("value", [{}, [], {"sufficient": "perhaps"}, {"missing": [OPEN]}, "yes"])
def test_no_verdict(value: object) -> None:
    with pytest.raises(ParseError):
        read_verdict(value)


def test_queries_are_the_known_slots() -> None:
    facts = (
        Triplet("Elin", "born in", "?"),
        Triplet("?x", "?", "?y"),
        Triplet("?", "wrote", "It?"),
    )
    assert Verdict(False, facts).queries == ["Elin born in", "wrote It?"]
    assert Verdict(True, facts).queries == []
