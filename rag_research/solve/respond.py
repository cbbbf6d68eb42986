"""The responder: the current query's answer, from what the reranker kept (ToG-3)."""

from __future__ import annotations

from rag_research.errors import ParseError
from rag_research.llm.base import LLM, Request
from rag_research.llm.structured import Parsed
from rag_research.prompts.library import PromptLibrary
from rag_research.solve.answer import answer_line, clean_answer
from rag_research.solve.trajectory import Trajectory


async def respond(llm: LLM, prompts: PromptLibrary, state: Trajectory) -> Parsed[str]:
    """Answer the current query; ``Unknown`` when the evidence does not tell.

    Returns:
        Rejected when the reply is empty.
    """
    prompt = prompts["tog3/respond"]
    request = Request(
        prompt.render(evidence=state.kept_evidence, found=state.findings, query=state.query),
        max_tokens=48,
        stop=("\n",),
        purpose="respond",
        prompt=prompt.label,
        accept=_read,
    )
    try:
        return Parsed(_read(await answer_line(llm, request)))
    except ParseError as error:
        return Parsed(None, error=str(error))


def _read(reply: str) -> str:
    answer = clean_answer(reply)
    if not answer:
        raise ParseError("The reply holds no answer.")
    return answer
