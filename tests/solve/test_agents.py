"""Responder, reflector and query evolution, one by one and in a single prompt."""

import json

import pytest

from rag_research.errors import ParseError
from rag_research.graph.subgraph import Element, Subgraph
from rag_research.llm.scripted import Scripted
from rag_research.prompts.library import PromptLibrary
from rag_research.solve.agents import AGENTS, Turn, read_turn
from rag_research.solve.evolve_query import read_step, read_sub_question
from rag_research.solve.reflect import INSUFFICIENT, Reflection, read_reflection
from rag_research.solve.trajectory import Trajectory

FILM = Element("chunk:film", "chunk", "Mia Orr directed Salt Road.", 0.9, ("film",))
REST = Element("chunk:rest", "chunk", "Rye is a grain.", 0.1, ("rest",))
STATE = Trajectory.start("Where was its director born?", Subgraph((FILM, REST))).keep([FILM])
LIBRARY = PromptLibrary()


async def test_the_responder_reads_what_was_kept_and_what_was_found() -> None:
    state = STATE.answered("Keld").evolved("Who is next?", Subgraph((FILM, REST))).keep([REST])
    llm = Scripted.of(["Answer: Mia Orr.\nBecause"])
    reply = await AGENTS["several"](llm, LIBRARY).respond(state)
    assert reply.value == "Mia Orr"
    prompt = llm.requests[0].messages[-1].content
    assert REST.text in prompt and FILM.text not in prompt
    assert "Where was its director born? Keld" in prompt
    assert prompt.endswith("Question: Who is next?")


async def test_an_empty_reply_is_rejected_and_not_for_the_cache() -> None:
    llm = Scripted.of([" \n"])
    reply = await AGENTS["several"](llm, LIBRARY).respond(STATE)
    assert (reply.value, reply.rejected) == (None, True)
    accept = llm.requests[0].accept
    assert accept is not None
    with pytest.raises(ParseError):
        accept(" ")


async def test_a_responder_that_reasons_is_asked_again_without_the_stop() -> None:
    llm = Scripted.of(["<think>", "<think>\nOne\nby one.\n</think>\n\nMia Orr."])
    assert (await AGENTS["several"](llm, LIBRARY).respond(STATE)).value == "Mia Orr"
    first, second = llm.requests
    assert (first.stop, first.max_tokens, second.stop) == (("\n",), 48, ())
    assert first.messages == second.messages and second.max_tokens > 48
    assert first.accept is not None and second.accept is not None
    first.accept("<think>")  # kept, since it leads to the second request again
    with pytest.raises(ParseError):
        second.accept("<think>\nOne")
    llm = Scripted.of(["<think>", "<think>\nOne"])
    assert (await AGENTS["several"](llm, LIBRARY).respond(STATE)).rejected


@pytest.mark.parametrize("answer", ["Unknown", "unknown.", ""])
async def test_unknown_is_insufficient_without_a_call(answer: str) -> None:
    llm = Scripted.of([])
    reply = await AGENTS["several"](llm, LIBRARY).reflect(STATE.answered(answer))
    assert (reply.value, llm.requests) == (INSUFFICIENT, [])


async def test_the_reflector_reads_the_whole_sub_graph_and_the_answer() -> None:
    llm = Scripted.of(['{"missing": "her  town", "sufficient": false}'])
    reply = await AGENTS["several"](llm, LIBRARY).reflect(STATE.answered("Keld"))
    assert reply.value == Reflection(False, "her town")
    prompt = llm.requests[0].messages[-1].content
    assert FILM.text in prompt and REST.text in prompt
    assert "Where was its director born? Keld" in prompt


async def test_the_next_question_is_asked_for_what_is_missing() -> None:
    llm = Scripted.of(['{"question": "Where was Mia Orr born?"}'] * 2)
    agents = AGENTS["several"](llm, LIBRARY)
    assert (await agents.evolve_query(STATE, "her town")).value == "Where was Mia Orr born?"
    await agents.evolve_query(STATE, "")
    first, second = (r.messages[-1].content for r in llm.requests)
    assert "Missing: her town\n" in first and "Missing: not known\n" in second
    assert FILM.text in first and REST.text in first and STATE.question in first


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        ({"sufficient": True, "missing": ""}, Reflection(True)),
        ({"sufficient": "yes"}, Reflection(True)),
        ({"Enough": "FALSE", "missing": ["x"]}, Reflection(False)),
        ({"sufficient": False, "missing": None}, Reflection(False)),
    ],
)
def test_verdicts(value: object, verdict: Reflection) -> None:
    assert read_reflection(value) == verdict


@pytest.mark.parametrize("value", [{}, [], {"sufficient": "perhaps"}, {"missing": "x"}])
def test_no_verdict(value: object) -> None:
    with pytest.raises(ParseError):
        read_reflection(value)


@pytest.mark.parametrize(
    ("value", "question"),
    [
        ({"question": " Where is  Keld? "}, "Where is Keld?"),
        ({"sub-question": ["Where is Keld?", "And Rye?"]}, "Where is Keld?"),
        ({"question": "None."}, ""),
        ({"question": None}, ""),
        ({"question": []}, ""),
    ],
)
def test_questions(value: object, question: str) -> None:
    assert read_sub_question(value) == question


SERVED = "When did the director of Are You Being Served? die?"
WOOLF = "Who directed Who's Afraid of Virginia Woolf? and where was he born?"


@pytest.mark.parametrize(
    ("asked", "question"),
    [
        (SERVED, SERVED),
        (WOOLF, WOOLF),
        (f"{SERVED} Because the answer needs it. Who else?", SERVED),
        ("Who directed Are You Being Served? Who wrote it?", "Who directed Are You Being Served?"),
        ("Who wrote it? Because I need to know.", "Who wrote it?"),
        ('Who wrote it? "Mia Orr" is said to have?', "Who wrote it?"),
        ("Who wrote it? because I need to know", "Who wrote it?"),
        ("Who wrote it?! Élodie?", "Who wrote it?"),
        ("¿Quién lo escribió? ¿Cuándo?", "¿Quién lo escribió?"),
        ("Who wrote it?\nmaybe Mia Orr?", "Who wrote it?"),
        ("Who wrote it", "Who wrote it"),
        ("Who wrote it??", "Who wrote it?"),
        ("Where is\nKeld? ", "Where is Keld?"),
        ("?", ""),
    ],
)
def test_a_question_ends_where_a_sentence_or_a_line_begins(asked: str, question: str) -> None:
    assert read_sub_question({"question": asked}) == question


@pytest.mark.parametrize("value", [{}, ["x"], {"question": 7}, {"question": [{"a": 1}]}])
def test_no_question(value: object) -> None:
    with pytest.raises(ParseError):
        read_sub_question(value)


@pytest.mark.parametrize(
    ("named", "question", "asked"),
    [
        ("the director", "Who is the director?", "Who is the director?"),
        ("the director  of it?", "where was its director born", "What is the director of it?"),
        ("nothing", STATE.question, ""),
        (None, STATE.question, ""),
        (["x"], STATE.question, ""),
        ("the director", "", ""),
    ],
)
def test_a_repeated_question_becomes_one_for_the_named_thing(
    named: object, question: str, asked: str
) -> None:
    assert read_step(STATE, {"next": named, "question": question}) == asked
    assert read_step(STATE, {"question": STATE.question}) == ""


TURN = {"answer": "Mia Orr", "sufficient": False, "question": "Where was Mia Orr born?"}


async def test_the_single_agent_makes_one_call_a_round() -> None:
    llm = Scripted.of([json.dumps(TURN), "no", "idea"])
    agent = AGENTS["single"](llm, LIBRARY)
    assert (await agent.respond(STATE)).value == "Mia Orr"
    assert (await agent.reflect(STATE)).value == Reflection(False)
    assert (await agent.evolve_query(STATE, "")).value == "Where was Mia Orr born?"
    assert [r.purpose for r in llm.requests] == ["single_agent"]
    assert (await agent.respond(STATE)).rejected  # and nothing of the earlier reply is left
    assert (await agent.reflect(STATE)).value == INSUFFICIENT
    assert (await agent.evolve_query(STATE, "")).value == ""


@pytest.mark.parametrize(
    ("value", "turn"),
    [
        (TURN, Turn("Mia Orr", Reflection(False), "Where was Mia Orr born?")),
        (
            {"answer": "x", "sufficient": False, "next": "her town", "question": STATE.question},
            Turn("x", INSUFFICIENT, "What is her town?"),
        ),
        ({"answer": 7, "sufficient": "true"}, Turn("7", Reflection(True), "")),
        ({"answer": "unknown", "sufficient": True}, Turn("unknown", INSUFFICIENT, "")),
        ({"answer": None, "sufficient": True}, Turn("Unknown", INSUFFICIENT, "")),
        ({"answer": False, "sufficient": True}, Turn("Unknown", INSUFFICIENT, "")),
        ({"answer": "A", "sufficient": True}, Turn("A", Reflection(True), "")),
    ],
)
def test_turns(value: object, turn: Turn) -> None:
    assert read_turn(STATE, value) == turn


@pytest.mark.parametrize("value", [{}, {"answer": "x"}, {"sufficient": True}, []])
def test_no_turn(value: object) -> None:
    with pytest.raises(ParseError):
        read_turn(STATE, value)
