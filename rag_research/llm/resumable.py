"""Many independent pieces of LLM work, each stored as it finishes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from rag_research.errors import LLMError, ParseError, RagResearchError
from rag_research.llm.base import LLM
from rag_research.llm.traced import TracedLLM
from rag_research.runtime.artifacts import ItemLog
from rag_research.runtime.loops import run_async
from rag_research.runtime.progress import progress
from rag_research.trace import Trace, plain
from rag_research.types import Usage

T = TypeVar("T")
Make = Callable[[T, LLM], Awaitable[dict[str, Any]]]


def finish_items(
    label: str,
    pending: Mapping[str, T],
    make: Make[T],
    log: ItemLog,
    llm: LLM,
    concurrency: int = 8,
) -> dict[str, Usage]:
    """Make every pending item and store it with what it cost (``"usage"``, by purpose).

    An item whose reply cannot be read, or whose call failed, is not stored, so the next call
    asks again. A log that is opened read-only takes nothing, so nothing is asked for it: what
    failed while an index was built stays missing when it is opened.

    Args:
        label: what is being done, for progress and messages.
        pending: what to work on, by the key to store it under.
        make: one piece of work -> its item. It raises :class:`~rag_research.errors.ParseError`
            when the reply is unusable, repair included.
        log: where finished items go, on disk as they finish.
        llm: what answers.
        concurrency: most pieces under way at once.

    Returns:
        What the failed pieces cost, by purpose.

    Raises:
        LLMError: the backend failed for every piece: it is down.
        BudgetExceededError: the budget is spent; finished items are kept.
    """
    if log.read_only:
        return {}
    log.path.touch()  # were nothing to succeed, a reader must still find that this was tried
    backend_errors: list[str] = []
    lost: dict[str, Usage] = {}

    async def finish(key: str, piece: T) -> None:
        trace = Trace(key)
        try:
            item = await make(piece, TracedLLM(llm, trace))
        except (ParseError, LLMError) as error:
            if isinstance(error, LLMError):
                backend_errors.append(str(error))
            lost.update(added(lost, trace.usage))
        else:
            log.add(key, item | {"usage": plain(trace.usage)})

    with progress(label, len(pending)) as advance:
        run_async(_work_through(pending, finish, concurrency, advance))
    if pending and len(backend_errors) == len(pending):
        raise LLMError(
            f"{label}: the model failed for all {len(pending)} items that were asked for. "
            f"First failure: {backend_errors[0]}"
        )
    return lost


async def _work_through(
    pending: Mapping[str, T],
    finish: Callable[[str, T], Awaitable[None]],
    concurrency: int,
    advance: Callable[[], None],
) -> None:
    """Finish every piece; after an error nothing new begins, and what is under way may finish."""
    queue = iter(pending.items())
    stop: list[RagResearchError] = []

    async def work() -> None:
        while not stop and (entry := next(queue, None)) is not None:
            try:
                await finish(*entry)
            except RagResearchError as error:  # a spent budget
                stop.append(error)
            advance()

    await asyncio.gather(*(work() for _ in range(max(1, concurrency))))
    if stop:
        raise stop[0]


def added(first: Mapping[str, Usage], second: Mapping[str, Usage]) -> dict[str, Usage]:
    """Costs by purpose, summed up; purposes in the order in which they come."""
    purposes = dict.fromkeys([*first, *second])
    return {p: first.get(p, Usage()) + second.get(p, Usage()) for p in purposes}


def cost_of(item: Mapping[str, Any]) -> dict[str, Usage]:
    """What a stored item cost, by purpose; nothing where that is not known."""
    return {purpose: Usage(**cost) for purpose, cost in item.get("usage", {}).items()}
