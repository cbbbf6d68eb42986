from dataclasses import replace
from pathlib import Path

import pytest

from rag_research.llm.scripted import Scripted
from rag_research.prompts.library import PromptLibrary
from rag_research.solve.answer import answer_from_memory, answer_from_passages, clean_answer
from rag_research.solve.synthesise import synthesise


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Norvia", "Norvia"),
        ("Answer: Norvia.", "Norvia"),
        ('The answer is: "Norvia"', "Norvia"),
        ("<think>long\nthoughts</think>\n\nyes", "yes"),
        ("**1931**\nBecause the text says so.", "1931"),
        ("Martin Luther King Jr.", "Martin Luther King Jr."),
        ("Washington, D.C.", "Washington, D.C."),
        ("Franklin D.", "Franklin D."),
        ("", ""),
        ("\n \n", ""),
        ("東京。", "東京。"),
        ("Okay, a city.\nSo Keld.\n</think>\n\nNorvia", "Norvia"),
        ("<think>\nIt may be Keld", ""),
        ("<Thinking>Keld?</Thinking>Norvia", "Norvia"),
        ('"Norvia".', "Norvia"),
        ("**Norvia**.", "Norvia"),
        ('**"Norvia".**', "Norvia"),
        ('Answer: "Washington, D.C.".', "Washington, D.C."),
        ('"Washington, D.C."', "Washington, D.C."),
        ('"Heroes"', "Heroes"),
        ('the album "Heroes".', 'the album "Heroes"'),
        ("M*A*S*H", "M*A*S*H"),
        ('"', ""),
    ],
)
def test_clean_answer(reply: str, answer: str) -> None:
    assert clean_answer(reply) == answer


async def test_a_reply_of_reasoning_alone_is_asked_for_again_without_the_stop() -> None:
    llm = Scripted.of(["<think>", "<think>\nA city.\n</think>\n\nNorvia."])
    assert await answer_from_memory(llm, PromptLibrary(), "Where?") == "Norvia"
    first, second = llm.requests
    assert second == replace(first, stop=(), max_tokens=second.max_tokens)
    assert (first.stop, first.max_tokens, second.max_tokens) == (("\n",), 48, 1024)


@pytest.mark.parametrize("reply", ["Norvia", "", "Norvia <think>", "<think>no</think>Norvia"])
async def test_any_other_reply_is_asked_for_once(reply: str) -> None:
    llm = Scripted.of([reply])
    await answer_from_memory(llm, PromptLibrary(), "Where?")
    assert len(llm.requests) == 1


OPEN_PROMPT = """version: 1
reply: 600

# user
{{evidence}}Explain at length: {{question}}
"""


async def test_a_prompt_with_a_reply_line_gets_a_long_answer_whole(tmp_path: Path) -> None:
    for name, field in (("answer/passages", "passages"), ("threadrag/synthesise", "evidence")):
        file = tmp_path / f"{name}.md"
        file.parent.mkdir(exist_ok=True)
        file.write_text(OPEN_PROMPT.replace("evidence", field), encoding="utf-8")
    prompts = PromptLibrary(tmp_path)
    reply = "<think>hm</think>\nAnswer: First, bees cluster.\n\nThen they eat. <answer>no tag.\n"
    llm = Scripted.of([reply, reply, reply.removeprefix("<think>")])
    kept = "First, bees cluster.\n\nThen they eat. <answer>no tag."
    assert await answer_from_passages(llm, prompts, "How?", []) == kept
    assert await synthesise(llm, prompts, "How?", "") == kept
    assert await answer_from_passages(llm, prompts, "How?", []) == kept  # opened by the prompt
    assert [(r.max_tokens, r.stop) for r in llm.requests] == [(600, ())] * 3
    # Without the line, and in the built-in files, answers stay short.
    short = PromptLibrary()
    assert {short[name].reply_tokens for name in short.names()} == {None}
    one, other = prompts["answer/passages"], replace(prompts["answer/passages"], reply_tokens=9)
    assert one.fingerprint != other.fingerprint
