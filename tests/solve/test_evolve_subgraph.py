"""The constructor: which chunks are read, what becomes of their triplets, what a bad reply does."""

import json
from typing import Any

import pytest

from rag_research.graph.heterogeneous import Relation, triplet_node_id
from rag_research.graph.subgraph import Element, Subgraph
from rag_research.llm.scripted import Scripted
from rag_research.prompts.library import PromptLibrary
from rag_research.solve.evolve_subgraph import EVOLUTIONS, Evolution
from rag_research.solve.trajectory import Trajectory
from rag_research.types import Triplet

FILM = Element("chunk:film", "chunk", "Salt Road\nMia Orr directed Salt Road.", 0.8, ("film",))
PERSON = Element("chunk:person", "chunk", "Mia Orr\nShe was born in Keld.", 0.6, ("person",))
DIRECTED = Relation(Triplet("Mia Orr", "directed", "Salt Road"), "chunk:film")
BORN = Relation(Triplet("Mia Orr", "was born in", "Keld"), "chunk:person")
BEFORE = Subgraph((FILM,)).with_relations([DIRECTED], Subgraph())


def rows(*triplets: tuple[str, ...]) -> str:
    return json.dumps({"triplets": [list(t) for t in triplets]})


async def evolve(
    script: Any, found: Subgraph, read: tuple[str, ...] = ("chunk:film",), **settings: Any
) -> tuple[Evolution, Scripted]:
    llm = Scripted.of(script)
    state = Trajectory.start("q", Subgraph()).evolved("q1", BEFORE, read)
    settings = {"refinement": "llm", "inferred": "hidden"} | settings
    run = EVOLUTIONS[settings["refinement"]]
    evolved = await run(llm, PromptLibrary(), state, "Where born?", found, settings["inferred"])
    return evolved, llm


async def test_only_chunks_not_read_before_are_extracted_from() -> None:
    script = {
        "extract_for_question": [rows(tuple(BORN.triplet))],
        "refine": [rows(tuple(BORN.triplet))],
    }
    evolved, llm = await evolve(script, Subgraph((PERSON, FILM)))
    assert [r.purpose for r in llm.requests] == ["extract_for_question", "refine"]
    first, last = (r.messages[-1].content for r in llm.requests)
    assert PERSON.text in first and "Question: Where born?" in first
    assert '["Mia Orr", "was born in", "Keld"]\n["Mia Orr", "directed", "Salt Road"]' in last
    assert evolved.read == ("chunk:person",)
    assert evolved.subgraph.relations == (BORN,)  # what the model left out is gone
    assert evolved.subgraph.elements[-1].score == 0.3


async def test_at_most_two_a_chunk_and_no_variables() -> None:
    many = [("Mia Orr", "?x", "Keld"), *(("Mia Orr", f"p{n}", "Keld") for n in range(9999))]
    evolved, _ = await evolve(
        {"extract_for_question": [rows(*many)], "refine": ["no", "no"]}, Subgraph((PERSON,))
    )
    assert [r.triplet.predicate for r in evolved.made] == ["p0", "p1"]


async def test_origins() -> None:
    guess = ("Keld", "lies in", "Norvia")
    script = {
        "extract_for_question": [rows(guess, tuple(BORN.triplet))],
        "refine": [rows(guess, ("Mia Orr", "born", "Keld"), tuple(DIRECTED.triplet))],
    }
    hidden, llm = await evolve(script, Subgraph((PERSON,)))
    assert {(r.triplet.predicate, r.origin) for r in hidden.made} == {
        ("lies in", "inferred"),
        ("was born in", "extracted"),
        ("born", "refined"),
    }
    assert hidden.counts == {
        "inferred": 1,
        "extracted": 1,
        "refined": 1,
        "unreadable_extract_for_question": 0,
        "unreadable_refine": 0,
    }
    assert [r.triplet.predicate for r in hidden.subgraph.relations] == ["born", "directed"]
    assert "Norvia" not in llm.requests[-1].messages[-1].content
    shown, llm = await evolve(script, Subgraph((PERSON,)), inferred="shown")
    assert [r.origin for r in shown.subgraph.relations] == ["inferred", "refined", "extracted"]
    assert "Norvia" in llm.requests[-1].messages[-1].content


@pytest.mark.parametrize("bad", ["", "I cannot", '{"triplets": [["a"', "[1, 2, 3]"])
async def test_what_cannot_be_read_is_counted_and_loses_nothing(bad: str) -> None:
    script = {"extract_for_question": [bad, bad], "refine": [bad, bad]}
    evolved, _ = await evolve(script, Subgraph((PERSON,)))
    assert evolved.unreadable == {"extract_for_question": 1, "refine": 1}
    assert evolved.subgraph.relations == (DIRECTED,)
    assert evolved.read == ("chunk:person",)


async def test_an_empty_list_is_a_reply() -> None:
    script = {"extract_for_question": [rows()], "refine": [rows()]}
    evolved, _ = await evolve(script, Subgraph((PERSON,)))
    assert evolved.subgraph == Subgraph((PERSON,))
    assert sum(evolved.unreadable.values()) == 0


async def test_nothing_at_hand_is_not_refined() -> None:
    llm = Scripted.of({"extract_for_question": [rows()]})
    state = Trajectory.start("q", Subgraph())
    run = EVOLUTIONS["llm"]
    evolved = await run(llm, PromptLibrary(), state, "q1", Subgraph((PERSON,)), "hidden")
    assert evolved.subgraph == Subgraph((PERSON,))
    empty = await run(Scripted.of([]), PromptLibrary(), state, "q1", Subgraph(), "hidden")
    assert empty.subgraph == Subgraph()


async def test_retrieved_triplets_stay_where_they_were_found() -> None:
    node = Element(triplet_node_id(BORN), "triplet", BORN.text, 0.7, ("person",), BORN)
    script = {"extract_for_question": [rows()], "refine": [rows(tuple(BORN.triplet))]}
    evolved, _ = await evolve(script, Subgraph((node, PERSON)))
    assert evolved.subgraph == Subgraph((node, PERSON))


async def test_the_ablation_keeps_what_was_retrieved() -> None:
    evolved, llm = await evolve([], Subgraph((PERSON,)), refinement="none")
    assert (evolved.subgraph, evolved.read, llm.requests) == (Subgraph((PERSON,)), (), [])
