"""The last step: reason over the evidence, answer in a tag."""

from __future__ import annotations

import re
from dataclasses import replace

from rag_research.llm.base import LLM, Message, Request
from rag_research.prompts.library import PromptLibrary
from rag_research.solve.answer import clean_answer, free_answer

_TAG = re.compile(r"<answer>(.*?)(?=</?answer>|\Z)", re.DOTALL | re.IGNORECASE)
_ANY_TAG = re.compile(r"</?answer>", re.IGNORECASE)


async def synthesise(llm: LLM, prompts: PromptLibrary, question: str, evidence: str) -> str:
    """Answer from evidence (ThreadRAG's last step); see :func:`reasoned_answer`."""
    shown = evidence or "nothing was found"
    return await reasoned_answer(
        llm, prompts, "threadrag/synthesise", evidence=shown, question=question
    )


async def reasoned_answer(llm: LLM, prompts: PromptLibrary, name: str, **values: str) -> str:
    """Short reasoning, then ``<answer>...</answer>``.

    A reply without the tag is followed by one request for it; if that has none either, the
    last line of the first reply is the answer. A prompt file with a line ``reply: N`` asks for no
    tag: see :func:`~rag_research.solve.answer.free_answer`.

    Args:
        llm: the frozen reader.
        prompts: the prompt files.
        name: of the prompt.
        **values: its fields.
    """
    prompt, reminder = prompts[name], prompts["threadrag/tag"]
    if prompt.reply_tokens is not None:
        return await free_answer(llm, prompt, **values)
    request = Request(
        prompt.render(**values),
        max_tokens=192,
        stop=("</answer>",),
        purpose="answer",
        prompt=prompt.label,
    )
    reply = (await llm.complete(request)).text
    if answer := answer_in_tag(reply):
        return answer
    messages = (*request.messages, Message("assistant", reply), *reminder.render())
    label = f"{prompt.label}+{reminder.label}"
    again = replace(request, messages=messages, max_tokens=48, prompt=label)
    return answer_in_tag((await llm.complete(again)).text) or last_line(reply)


def answer_in_tag(reply: str) -> str:
    """What stands in the last filled answer tag; empty when there is none.

    Example:
        >>> answer_in_tag("Elin was born in Norvia. <answer>Norvia</answer>")
        'Norvia'
    """
    filled = [text for match in _TAG.finditer(reply) if (text := clean_answer(match[1]))]
    return filled[-1] if filled else ""


def last_line(reply: str) -> str:
    """The last non-empty line, without tags; empty when there is none."""
    lines = [line for line in _ANY_TAG.sub(" ", reply).splitlines() if line.strip()]
    return clean_answer(lines[-1]) if lines else ""
