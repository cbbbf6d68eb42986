from dataclasses import replace
from pathlib import Path

import pytest

from rag_research.llm.scripted import Scripted
from rag_research.prompts.library import PromptLibrary
from rag_research.solve.answer import answer_from_passages, clean_answer
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
    ],
)
def test_clean_answer(reply: str, answer: str) -> None:
    assert clean_answer(reply) == answer


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
    llm = Scripted.of([reply, reply])
    kept = "First, bees cluster.\n\nThen they eat. <answer>no tag."
    assert await answer_from_passages(llm, prompts, "How?", []) == kept
    assert await synthesise(llm, prompts, "How?", "") == kept
    assert [(r.max_tokens, r.stop) for r in llm.requests] == [(600, ()), (600, ())]
    # Without the line, and in the built-in files, answers stay short.
    short = PromptLibrary()
    assert {short[name].reply_tokens for name in short.names()} == {None}
    one, other = prompts["answer/passages"], replace(prompts["answer/passages"], reply_tokens=9)
    assert one.fingerprint != other.fingerprint
