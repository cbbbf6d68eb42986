"""Who answers, judges and asks on in ToG-3: an agent for each, or one prompt for all three."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from rag_research.errors import ParseError
from rag_research.llm.base import LLM, Request
from rag_research.llm.structured import Parsed, complete_structured, pick, pick_yes_no
from rag_research.prompts.library import PromptLibrary
from rag_research.solve.evolve_query import evolve_query, read_step
from rag_research.solve.reflect import INSUFFICIENT, Reflection, reflect
from rag_research.solve.respond import respond
from rag_research.solve.trajectory import UNKNOWN, Trajectory, is_unknown

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "answer": {"type": "string"},
        "sufficient": {"type": "boolean"},
        "next": {"type": "string"},
        "question": {"type": "string"},
    },
    "required": ["answer", "sufficient", "next", "question"],
    "additionalProperties": False,
}


class Agents(Protocol):
    """The three that read; asked once each a round, in this order."""

    async def respond(self, state: Trajectory) -> Parsed[str]:
        """The current query's answer."""
        ...

    async def reflect(self, state: Trajectory) -> Parsed[Reflection]:
        """Whether the question can be answered."""
        ...

    async def evolve_query(self, state: Trajectory, missing: str) -> Parsed[str]:
        """The next sub-question; empty for none."""
        ...


class SeveralAgents:
    """The paper's: a prompt for each."""

    def __init__(self, llm: LLM, prompts: PromptLibrary) -> None:
        self._llm, self._prompts = llm, prompts

    async def respond(self, state: Trajectory) -> Parsed[str]:
        """See :func:`rag_research.solve.respond.respond`."""
        return await respond(self._llm, self._prompts, state)

    async def reflect(self, state: Trajectory) -> Parsed[Reflection]:
        """See :func:`rag_research.solve.reflect.reflect`."""
        return await reflect(self._llm, self._prompts, state)

    async def evolve_query(self, state: Trajectory, missing: str) -> Parsed[str]:
        """See :func:`rag_research.solve.evolve_query.evolve_query`."""
        return await evolve_query(self._llm, self._prompts, state, missing)


@dataclass(frozen=True, slots=True)
class Turn:
    """One reply of the single agent."""

    answer: str
    reflection: Reflection
    question: str


class SingleAgent:
    """One call a round, made when it is to respond; the rest is read from the same reply.

    One of these serves one question.
    """

    def __init__(self, llm: LLM, prompts: PromptLibrary) -> None:
        self._llm, self._prompts = llm, prompts
        self._turn = Turn("", INSUFFICIENT, "")

    async def respond(self, state: Trajectory) -> Parsed[str]:
        """Ask for everything. A reply that cannot be read ends the loop with no answer."""
        prompt = self._prompts["tog3/single"]
        request = Request(
            prompt.render(
                evidence=state.kept_evidence,
                found=state.findings,
                question=state.question,
                query=state.query,
            ),
            max_tokens=144,
            schema=SCHEMA,
            purpose="single_agent",
            prompt=prompt.label,
        )
        parsed = await complete_structured(
            self._llm, request, partial(read_turn, state), self._prompts
        )
        self._turn = parsed.value or Turn("", INSUFFICIENT, "")
        answer = parsed.value.answer if parsed.value else None
        return Parsed(answer, parsed.attempts, parsed.error)

    async def reflect(self, state: Trajectory) -> Parsed[Reflection]:
        """What the reply says of it."""
        return Parsed(self._turn.reflection)

    async def evolve_query(self, state: Trajectory, missing: str) -> Parsed[str]:
        """What the reply asks."""
        return Parsed(self._turn.question)


def read_turn(state: Trajectory, value: Any) -> Turn:
    """Answer, verdict and next question in a decoded reply; a missing question is none.

    Raises:
        ParseError: there is no answer or no verdict.
    """
    answer = pick(value, "answer")
    told = isinstance(answer, (str, int, float)) and not isinstance(answer, bool)
    text = " ".join(str(answer).split()) if told else ""
    sufficient = pick_yes_no(value, "sufficient", "settled") and not is_unknown(text)
    try:
        question = read_step(state, value)
    except ParseError:
        question = ""
    return Turn(text or UNKNOWN, Reflection(sufficient), question)


AGENTS: dict[str, Callable[[LLM, PromptLibrary], Agents]] = {
    "several": SeveralAgents,
    "single": SingleAgent,
}
