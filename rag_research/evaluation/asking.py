"""Ask many questions at once, keep every finished one, count every failed one."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from rag_research.errors import (
    ArtifactError,
    BudgetExceededError,
    ConfigError,
    MissingExtraError,
    ModelNotFoundError,
)
from rag_research.evaluation.records import Failure, Record, add_usage, spent, storable
from rag_research.runtime.artifacts import ItemLog
from rag_research.runtime.progress import progress
from rag_research.systems.base import Index, System
from rag_research.trace import Trace
from rag_research.types import Question, Usage

_FATAL = (ConfigError, MissingExtraError, ModelNotFoundError, ArtifactError)


@dataclass(slots=True)
class Outcomes:
    """What became of the questions of a run; filled while they are solved.

    Args:
        records: by question id, those answered.
        failures: by question id, those that ended in an error.
        budget_error: what ended the run early, if the budget did.
    """

    records: dict[str, Record] = field(default_factory=dict)
    failures: dict[str, Failure] = field(default_factory=dict)
    budget_error: BudgetExceededError | None = None

    def usage(self) -> dict[str, Usage]:
        """Cost by purpose of all questions, failed ones included."""
        costs = [r.usage for r in self.records.values()]
        return add_usage(costs + [f.usage for f in self.failures.values()])


class Clock:
    """Tells time that stands still while models load.

    Args:
        load_seconds: how long models have been loading so far, all in all.
    """

    def __init__(self, load_seconds: Callable[[], float]) -> None:
        self.load_seconds = load_seconds
        self.lap_started = self.now()

    def now(self) -> float:
        """Seconds since some fixed moment, loading left out."""
        return time.perf_counter() - self.load_seconds()

    def lap(self) -> float:
        """Seconds since the last lap."""
        lap, self.lap_started = self.now() - self.lap_started, self.now()
        return lap


def _nothing_loads() -> float:
    return 0.0


async def ask(
    system: System,
    index: Index,
    questions: Sequence[Question],
    log: ItemLog,
    concurrency: int,
    load_seconds: Callable[[], float] = _nothing_loads,
) -> Outcomes:
    """Solve the questions that the log does not hold yet.

    Args:
        system: what answers.
        index: what it searches.
        questions: in the order to start them.
        log: finished questions by id. Failed ones are not kept there, so the next run of the
            same command asks them again.
        concurrency: most questions under way at once.
        load_seconds: how long models have been loading so far; kept out of the timings.

    Raises:
        RagResearchError: an error that every question would meet (a missing model, a wrong
            setting) ends the run. Any other error fails its question only.
    """
    outcomes = Outcomes()
    for question in questions:
        if question.id in log:
            record = Record.from_plain(log[question.id])
            if record.question == question.text:
                outcomes.records[question.id] = record
    clock = Clock(load_seconds)
    waiting = iter([q for q in questions if q.id not in outcomes.records])
    with progress(f"ask {system.config.name}", len(questions)) as advance:
        advance(len(outcomes.records))

        async def work(remaining: Iterator[Question]) -> None:
            while outcomes.budget_error is None:
                question = next(remaining, None)
                if question is None:
                    return
                record = await _solve(system, index, question, clock, outcomes)
                if record is not None:
                    kept = record.to_plain()
                    log.add(question.id, kept)
                    # As a resumed run would read it, so that both write equal files.
                    outcomes.records[question.id] = Record.from_plain(kept)
                advance()

        workers = [asyncio.ensure_future(work(waiting)) for _ in range(max(1, concurrency))]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
    return outcomes


async def _solve(
    system: System, index: Index, question: Question, clock: Clock, outcomes: Outcomes
) -> Record | None:
    trace = Trace(question.id)
    started = clock.now()
    try:
        answer = await system.solve(question.text, index, trace)
    except BudgetExceededError as error:
        outcomes.budget_error = error
    except _FATAL:
        raise
    except Exception as error:  # one odd question must not cost the others
        outcomes.failures[question.id] = Failure(
            error=storable(f"{type(error).__name__}: {error}"),
            details=storable("".join(traceback.format_exception(error))),
            usage=spent(trace),
            trace=storable(list(trace.lines())),
        )
    else:
        return Record(
            question=question.text,
            answer=answer,
            usage=spent(trace),
            trace=list(trace.lines()),
            seconds=clock.now() - started,
            share=clock.lap(),
            prompts=system.parts.prompts.versions(),
        )
    return None
