"""A triplet a model returns is known, stated by a chunk, or its own idea."""

import pytest

from rag_research.graph.heterogeneous import Relation
from rag_research.solve.provenance import INFERRED, names_both, origin_of, states
from rag_research.types import Triplet

TEXT = "Mia Orr\nMia Orr is a director of films. She was born in Keld. Salt Road was long."
CHUNKS = {"chunk:film": "Salt Road\nMia Orr directed Salt Road.", "chunk:person": TEXT}
KNOWN = [
    Relation(Triplet("Mia Orr", "director", "Salt Road"), "chunk:film"),
    Relation(Triplet("Mia Orr", "place of birth", "Keld"), "chunk:person", "refined"),
]


def told(*slots: str) -> list[tuple[str, str, str]]:
    relations = origin_of(Triplet(*slots), KNOWN, CHUNKS)
    return [(r.triplet.proposition, r.chunk, r.origin) for r in relations]


def test_a_known_triplet_keeps_its_origin_however_it_is_spelled() -> None:
    assert origin_of(Triplet("mia orr", "Director", "Salt  Road"), KNOWN, {}) == (KNOWN[0],)
    assert origin_of(Triplet("Mia Orr", "place of birth", "Keld"), KNOWN, {}) == (KNOWN[1],)


def test_what_a_chunk_states_is_refined_from_it() -> None:
    assert told("Mia Orr", "was born in", "Keld") == [
        ("Mia Orr was born in Keld", "chunk:person", "refined")
    ]
    assert told("Salt Road", "directed by", "Mia Orr")[0][1:] == ("chunk:film", "refined")


def test_known_ends_in_new_words_are_the_known_triplet() -> None:
    assert origin_of(Triplet("Mia Orr", "hometown", "Keld"), KNOWN, CHUNKS) == (KNOWN[1],)


@pytest.mark.parametrize(
    "slots",
    [
        ("Mia Orr", "died in", "Keld Abbey"),  # no chunk names the end
        ("Keld", "hometown", "Mia Orr"),  # the known one, turned round
        ("Salt Road", "filmed in", "Keld"),  # both named, never so connected
        ("Mia Orr", "is", "long"),  # small words alone: the sentence must name the subject
    ],
)
def test_the_rest_is_inferred_and_from_no_chunk(slots: tuple[str, str, str]) -> None:
    assert told(*slots) == [(" ".join(slots), "", "inferred")]


@pytest.mark.parametrize(
    ("slots", "stated"),
    [
        (("Mia Orr", "born", "Keld"), True),
        (("Mia Orr", "director of", "films"), True),
        (("Mia Orr", "directed", "films"), True),
        (("Mia", "is", "director"), True),
        (("Mia Or", "born", "Keld"), False),
        (("Mia Orr", "was sworn in", "Keld"), False),
        (("Mia Orr", "born in", "Salt Road"), False),
        (("Salt Road", "was", "long"), True),
        (("?", "was", "long"), False),
    ],
)
def test_states(slots: tuple[str, str, str], stated: bool) -> None:
    assert states(TEXT, Triplet(*slots)) is stated


def test_names_both_needs_whole_words() -> None:
    assert names_both(TEXT, Triplet("keld", "x", "MIA ORR"))
    assert not names_both(TEXT, Triplet("Kel", "x", "Mia Orr"))
    assert not names_both(TEXT, Triplet("...", "x", "Mia Orr"))


def test_hiding_drops_inferred_ones_only() -> None:
    guess = Relation(Triplet("a", "b", "c"), "", "inferred")
    assert INFERRED["hidden"]([*KNOWN, guess]) == tuple(KNOWN)
    assert INFERRED["shown"]([*KNOWN, guess]) == (*KNOWN, guess)
