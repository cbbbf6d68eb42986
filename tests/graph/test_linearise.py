"""From spans to text: by hand, and always a subsequence of the documents."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_research.graph.candidates import Candidates, Query
from rag_research.graph.evidence import FORMATS, Material
from rag_research.graph.linearise import (
    LINEARISATIONS,
    Kept,
    block_text,
    document_order,
    document_ranking,
    energy_order,
)
from rag_research.graph.nodes import SemanticNode
from rag_research.graph.topology import Topology
from rag_research.text.sentences import sentence_offsets
from rag_research.types import Span, Triplet

TEXTS = {"a": "One.  Two. Three.\nFour.", "b": "Fünf! 六。 Seven?"}
TITLES = {"a": "First", "b": "Second"}


def kept(chosen, energy, retrieval=None, texts=TEXTS, **settings_) -> Kept:
    spans = [
        SemanticNode(Span(d, start, end, text[start:end]), n, TITLES.get(d, ""))
        for d, text in texts.items()
        for n, (start, end) in enumerate(sentence_offsets(text))
    ]
    topology = Topology()
    topology.add(spans, np.eye(len(spans), 300, dtype=np.float32))
    energy = np.array(energy, np.float64)
    query = Query("q", np.zeros(300, np.float32), frozenset(("keld",)))
    found = Candidates(query, topology.data(), energy, [], energy, energy, retrieval or {})
    return Kept(found, chosen, **settings_)


def text_of(which: Kept, order=document_order, texts=TEXTS) -> list[str]:
    return [block_text(block, which, texts) for block in order(which)]


ENERGY = [0.3, 0.1, 0.05, 0.05, 0.4, 0.1, 0]


def test_neighbours_keep_the_bytes_between_them_and_gaps_are_shown() -> None:
    assert text_of(kept([0, 1, 3], ENERGY)) == ["First\nOne.  Two. ... Four."]
    assert text_of(kept([2, 3], ENERGY)) == ["First\nThree.\nFour."]


def test_documents_by_highest_energy() -> None:
    assert text_of(kept([0, 4, 6], ENERGY)) == ["Second\nFünf! ... Seven?", "First\nOne."]


def test_document_relevance_options_and_ties() -> None:
    chosen = [0, 1, 2, 4]
    assert document_ranking(kept(chosen, ENERGY)) == [("b", 0.4), ("a", 0.3)]
    (best, value), _ = document_ranking(kept(chosen, ENERGY, relevance="sum"))
    assert (best, round(value, 9)) == ("a", 0.45)
    scores = {"a": 2.0, "b": 1.0}
    assert document_ranking(kept(chosen, ENERGY, scores, relevance="retrieval"))[0] == ("a", 2.0)
    tied = [0.5, 0, 0, 0, 0.5, 0, 0]
    assert [d for d, _ in document_ranking(kept([0, 4], tied, scores))] == ["a", "b"]
    assert [d for d, _ in document_ranking(kept([0, 4], tied, {"b": 1.0}))] == ["b", "a"]


def test_energy_order_shows_bare_spans() -> None:
    assert text_of(kept([0, 1, 4], ENERGY), energy_order) == ["Fünf!", "One.", "Two."]


def test_shuffling_is_drawn_by_seed() -> None:
    shuffle = LINEARISATIONS["shuffled"]
    orders = {tuple(text_of(kept(range(7), ENERGY, seed=s), shuffle)) for s in range(5)}
    assert len(orders) > 1
    assert {frozenset(order) for order in orders} == {
        frozenset(("One.", "Two.", "Three.", "Four.", "Fünf!", "六。", "Seven?"))
    }
    assert text_of(kept(range(7), ENERGY), shuffle) == text_of(kept(range(7), ENERGY), shuffle)


@settings(deadline=None, max_examples=40)
@given(
    st.text(alphabet="Ab.!?。 \n“é", min_size=1, max_size=60),
    st.lists(st.booleans(), min_size=60, max_size=60),
)
def test_linearised_text_is_a_subsequence_of_the_source(text: str, flags: list[bool]) -> None:
    count = len(sentence_offsets(text))
    chosen = [n for n in range(count) if flags[n]]
    texts = {"x": text}
    shown = text_of(kept(chosen, [1.0] * count, texts=texts), texts=texts)
    position = 0
    for run in [r for block in shown for r in block.split(" ... ") if r]:
        position = text.index(run, position) + len(run)
    assert len(shown) == bool(chosen)


def test_nothing_kept_is_no_text() -> None:
    assert text_of(kept([], ENERGY)) == []


FACTS = [
    Triplet("Orr", "born in", "Aldis"),
    Triplet("Keld", "mayor", "Orr"),
    Triplet("Aldis", "lies on", "the Esk"),
    Triplet("Mia", "sings", "Bells"),
]


def shown_as(name: str, *, facts: bool = True) -> str:
    which = kept([0, 1, 4], ENERGY)
    nodes = which.candidates.graph.nodes
    of = {nodes[0].key: FACTS[:2], nodes[1].key: FACTS[2:3], nodes[4].key: FACTS[3:]}
    material = Material(which, document_order(which), TEXTS, of if facts else {})
    return FORMATS[name](material)


def test_evidence_formats_by_hand() -> None:
    assert shown_as("stg_paths") == "Second\nFünf!\n\nFirst\nOne.  Two."
    assert shown_as("kg_triplets").splitlines() == [
        "(Mia, sings, Bells)",
        "(Orr, born in, Aldis)",
        "(Keld, mayor, Orr)",
        "(Aldis, lies on, the Esk)",
    ]
    assert shown_as("kg_texts") == (
        "Mia sings Bells.\n\nOrr born in Aldis. Keld mayor Orr. Aldis lies on the Esk."
    )
    # Chains start at the question's entity and take the rest along.
    assert shown_as("kg_paths").splitlines() == [
        "Keld - mayor -> Orr - born in -> Aldis - lies on -> the Esk",
        "Mia - sings -> Bells",
    ]


def test_formats_without_any_fact_are_empty() -> None:
    assert [shown_as(n, facts=False) for n in ("kg_triplets", "kg_texts", "kg_paths")] == [""] * 3
