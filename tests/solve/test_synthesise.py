"""The answer in its tag, or what stands in for it."""

import asyncio

import pytest

from rag_research.llm.scripted import Scripted
from rag_research.prompts.library import PromptLibrary
from rag_research.solve.synthesise import answer_in_tag, last_line, synthesise


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("She was born there.\n<answer>Norvia</answer>", "Norvia"),
        ("She was born there. <answer>Norvia", "Norvia"),  # the stop string is not in the reply
        ("<ANSWER>\n Norvia.\n</ANSWER> That is all.", "Norvia"),
        ("<answer><answer>Norvia</answer>", "Norvia"),
        ("<answer>Keld</answer> No: <answer>Norvia</answer>", "Norvia"),
        ("<answer>Keld</answer>\n<answer></answer>", "Keld"),
        ("First this.\n\nNorvia\n\n", ""),
        ("</answer>Norvia", ""),
        ("<answer></answer>", ""),
        ("", ""),
    ],
)
def test_tags(reply: str, answer: str) -> None:
    assert answer_in_tag(reply) == answer


def test_last_line() -> None:
    assert last_line("First this.\n\nNorvia.\n\n") == "Norvia"
    assert last_line("</answer>Norvia") == "Norvia"
    assert last_line("<answer></answer>") == last_line("") == ""


def ask(*replies: str) -> tuple[str, list[str]]:
    llm = Scripted.of(replies)
    text = asyncio.run(synthesise(llm, PromptLibrary(), "Where?", ""))
    return text, [message.content for message in llm.requests[-1].messages]


def test_one_request_when_the_tag_is_there() -> None:
    text, messages = ask("Reason. <answer>Norvia")
    assert text == "Norvia"
    assert "nothing was found" in messages[-1]


def test_a_missing_tag_is_asked_for_once() -> None:
    text, messages = ask("She was born in Norvia.", "<answer>Norvia")
    assert text == "Norvia"
    assert messages[-2] == "She was born in Norvia."


def test_without_any_tag_the_last_line_answers() -> None:
    assert ask("She moved.\nNorvia.", "no")[0] == "Norvia"
