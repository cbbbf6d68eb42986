"""A frozen LLM says which of two answers is better, once in each order of the two.

One *presentation* is a question with a first and a second answer. Every pair of answers is
shown twice, the other way round the second time, so that a judge that favours a position is
found out (:mod:`rag_research.evaluation.judge_scores`). A finished verdict is kept in a log
under the content of its presentation; a reply that says nothing usable is counted and, like a
failed call, asked for again by the next run of the same command. Nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from rag_research.config.fingerprint import fingerprint
from rag_research.errors import BudgetExceededError, LLMError, ParseError
from rag_research.evaluation.records import storable
from rag_research.llm.base import LLM, Request
from rag_research.llm.resumable import added, cost_of, finish_items
from rag_research.llm.structured import complete_structured, pick
from rag_research.prompts.library import PromptLibrary
from rag_research.runtime.artifacts import ItemLog
from rag_research.types import Usage

PROMPT = "judge/pairwise"
CRITERIA = ("comprehensiveness", "diversity", "empowerment", "overall")
NO_ANSWER = "(no answer)"
_REPLY_TOKENS = 96  # four keys with spaces and line ends take about 60
_TIES = frozenset({"tie", "draw", "equal"})

Choice = Literal["1", "2", "tie"]
Verdict = Mapping[str, Choice]

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {name: {"type": "string", "enum": ["1", "2", "tie"]} for name in CRITERIA},
    "required": list(CRITERIA),
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Presentation:
    """What the judge is shown.

    Args:
        question: its text.
        first: the answer called 1.
        second: the answer called 2.
    """

    question: str
    first: str
    second: str

    @property
    def key(self) -> str:
        """Equal presentations have equal keys, whichever systems the answers came from."""
        return fingerprint([self.question, self.first, self.second])


@dataclass(slots=True)
class Verdicts:
    """What became of the presentations.

    Args:
        given: by key, a choice for each criterion.
        unparsed: by key, why the reply says nothing usable, a repair request included.
        failed: by key, the error of a call that failed for good.
        usage: cost by purpose, verdicts found in the log included.
        repaired: verdicts that took a second request.
        reused: verdicts found in the log.
        budget_error: what ended the judging early, if the budget did.
    """

    given: dict[str, Verdict] = field(default_factory=dict)
    unparsed: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    usage: dict[str, Usage] = field(default_factory=dict)
    repaired: int = 0
    reused: int = 0
    budget_error: BudgetExceededError | None = None


def read_verdict(value: Any) -> Verdict:
    """The verdict in a decoded reply: a choice for every criterion.

    ``1``, ``"Answer 2"`` and ``{"winner": "tie"}`` are read as well; anything else is refused,
    "both" too, which may mean a tie or a misunderstanding.

    Raises:
        ParseError: a criterion is missing, or says neither 1 nor 2 nor tie.
    """
    return {name: _choice(name, pick(value, name)) for name in CRITERIA}


def _choice(criterion: str, said: Any) -> Choice:
    if isinstance(said, Mapping):
        said = pick(said, "winner", "choice", "better")
    word = re.sub(r"^answer|[\s_#]", "", str(said).strip().lower())
    if word in ("1", "2"):
        return cast(Choice, word)
    if word in _TIES:
        return "tie"
    raise ParseError(f'{criterion!r} must be "1", "2" or "tie", got {said!r:.60}')


def ask_judge(
    presentations: Mapping[str, Presentation],
    log: ItemLog,
    llm: LLM,
    prompts: PromptLibrary,
    concurrency: int = 8,
) -> Verdicts:
    """Get the verdicts that the log does not hold yet.

    Args:
        presentations: by key, in the order to ask.
        log: finished verdicts by key.
        llm: the judge.
        prompts: where ``judge/pairwise`` is taken from.
        concurrency: most requests under way at once.

    Raises:
        LLMError: every call failed: the judge is down.
        RagResearchError: what every request would meet: a missing model, a wrong setting.
    """
    verdicts = Verdicts(reused=sum(key in log for key in presentations))
    pending = {key: shown for key, shown in presentations.items() if key not in log}

    async def judged(shown: Presentation, traced: LLM) -> dict[str, Any]:
        try:
            return await _verdict_item(shown, traced, prompts)
        except ParseError as error:
            verdicts.unparsed[shown.key] = storable(str(error))
            raise
        except LLMError as error:
            verdicts.failed[shown.key] = storable(str(error))
            raise

    try:
        verdicts.usage = finish_items("judge", pending, judged, log, llm, concurrency)
    except BudgetExceededError as error:
        verdicts.budget_error = error
    for key in presentations:
        if key in log:
            item = log[key]
            verdicts.given[key] = item["verdict"]
            verdicts.repaired += item["repaired"]
            verdicts.usage = added(verdicts.usage, cost_of(item))
    return verdicts


async def _verdict_item(shown: Presentation, llm: LLM, prompts: PromptLibrary) -> dict[str, Any]:
    """One verdict as the log keeps it.

    Raises:
        ParseError: the reply says nothing usable, nor does the repaired one.
    """
    prompt = prompts[PROMPT]
    request = Request(
        prompt.render(
            question=shown.question,
            first=shown.first.strip() or NO_ANSWER,
            second=shown.second.strip() or NO_ANSWER,
        ),
        max_tokens=_REPLY_TOKENS,
        schema=SCHEMA,
        purpose="judge",
        prompt=prompt.label,
    )
    parsed = await complete_structured(llm, request, read_verdict, prompts)
    if parsed.value is None:
        raise ParseError(parsed.error)
    return {"verdict": dict(parsed.value), "repaired": int(parsed.repaired)}
