"""One summary a community, by a frozen language model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rag_research.errors import ParseError
from rag_research.llm.base import LLM, Request
from rag_research.llm.resumable import added, cost_of, finish_items
from rag_research.llm.structured import without_reasoning
from rag_research.prompts.library import PromptLibrary
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.text.normalise import text_key
from rag_research.types import Usage

STAGE = "community-summaries"
VERSION = 1
PROMPT = "tog3/summarise"


@dataclass(frozen=True, slots=True)
class Summaries:
    """What became of a number of communities.

    Args:
        texts: summary of each community that has one, by its id.
        failed: communities without one, to ask again.
        reused: summaries found in the store.
        usage: cost by purpose, that of work resumed from the store included.
    """

    texts: Mapping[str, str]
    failed: int
    reused: int
    usage: Mapping[str, Usage]


def summarise(
    contents: Mapping[str, str],
    store: ArtifactStore,
    llm: LLM,
    prompts: PromptLibrary,
    max_tokens: int = 128,
    concurrency: int = 8,
) -> Summaries:
    """A summary of every community; finished ones are found in ``store`` by their content.

    A community whose call failed, or whose reply says nothing, has no summary and nothing of it
    is stored, so the next run asks again.

    Args:
        contents: what the model reads about each community, by its id.
        store: keeps one item for every finished summary.
        llm: what answers.
        prompts: where the prompt ``tog3/summarise`` is taken from.
        max_tokens: most tokens of a summary.
        concurrency: most requests under way at once.

    Raises:
        LLMError: every community that was asked for failed: the backend is down.
        BudgetExceededError: the budget is spent; finished summaries are kept.
    """
    if not contents:
        return Summaries({}, 0, 0, {})
    prompt = prompts[PROMPT]
    inputs = {
        "llm": dict(llm.identity),
        "max_tokens": max_tokens,
        "prompt": prompt.fingerprint,
    }
    log = store.items(STAGE, VERSION, inputs)
    keys = {id: text_key(content) for id, content in contents.items()}
    pending = {keys[id]: content for id, content in contents.items() if keys[id] not in log}

    async def ask(content: str, traced: LLM) -> dict[str, Any]:
        request = Request(
            prompt.render(community=content),
            max_tokens=max_tokens,
            purpose="summarise",
            prompt=prompt.label,
            accept=read_summary,
        )
        return {"summary": read_summary((await traced.complete(request)).text)}

    lost = finish_items("summarise communities", pending, ask, log, llm, concurrency)
    found = {id: log[key] for id, key in keys.items() if key in log}
    usage: dict[str, Usage] = {}
    for key in dict.fromkeys(keys[id] for id in found):  # equal contents were asked once
        usage = added(usage, cost_of(log[key]))
    return Summaries(
        {id: item["summary"] for id, item in found.items()},
        len(contents) - len(found),
        sum(keys[id] not in pending for id in contents),
        added(usage, lost),
    )


def read_summary(reply: str) -> str:
    """The summary in a reply, white space squeezed.

    Raises:
        ParseError: nothing but reasoning or white space.
    """
    text = " ".join(without_reasoning(reply).split())
    if not any(map(str.isalnum, text)):
        raise ParseError(f"The reply holds no summary; it is {reply.strip()[:80]!r}.")
    return text
