"""What happened to one question, in order, with costs; written as JSON lines.

A trace is an argument, never a global:

    with trace.step("retrieve", round=2) as step:
        step.record(hits=hits)

Every step becomes one line: ``{"question", "seq", "step", "parent", "seconds", "calls", ...}``
with the fields given to :meth:`Trace.step` and :meth:`Step.record`. ``parent`` is the ``seq``
of the enclosing step or null; ``calls`` lists the LLM calls made inside the step.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rag_research.types import Usage


class Step:
    """One step of a trace; see :class:`Trace`."""

    def __init__(self, name: str, seq: int, parent: int | None, fields: dict[str, Any]) -> None:
        self.name = name
        self.seq = seq
        self.parent = parent
        self.fields = fields
        self.calls: list[dict[str, Any]] = []
        self.seconds = 0.0

    def record(self, **fields: Any) -> None:
        """Add fields to the step; dataclasses and tuples are made plain."""
        self.fields.update({name: plain(value) for name, value in fields.items()})


class Trace:
    """The ordered steps of one question.

    One trace belongs to one question and is used by one task at a time.

    Args:
        question_id: written on every line.
    """

    def __init__(self, question_id: str) -> None:
        self.question_id = question_id
        self.steps: list[Step] = []
        self.usage: dict[str, Usage] = {}
        self._open: list[Step] = []

    @contextmanager
    def step(self, name: str, **fields: Any) -> Iterator[Step]:
        """Open a step; steps opened inside it become its children."""
        parent = self._open[-1].seq if self._open else None
        step = Step(name, len(self.steps), parent, {k: plain(v) for k, v in fields.items()})
        self.steps.append(step)
        self._open.append(step)
        started = time.perf_counter()
        try:
            yield step
        except BaseException as error:
            step.record(error=f"{type(error).__name__}: {error}")
            raise
        finally:
            step.seconds = time.perf_counter() - started
            self._open.remove(step)

    def record_call(self, purpose: str, usage: Usage, call: Mapping[str, Any]) -> None:
        """Note one LLM call: its cost by purpose, and the call in the innermost open step."""
        self.usage[purpose] = self.usage.get(purpose, Usage()) + usage
        if self._open:
            self._open[-1].calls.append({"purpose": purpose, **plain(call), **plain(usage)})

    def total_usage(self) -> Usage:
        """The cost of all calls of this question."""
        return sum(self.usage.values(), Usage())

    def lines(self) -> Iterator[dict[str, Any]]:
        """The trace as plain mappings, one a step, in the order the steps began."""
        for step in self.steps:
            yield {
                "question": self.question_id,
                "seq": step.seq,
                "parent": step.parent,
                "step": step.name,
                **step.fields,
                "calls": step.calls,
                "seconds": round(step.seconds, 4),
            }

    def write(self, path: Path) -> None:
        """Append the trace to a JSON lines file."""
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in self.lines())
        with path.open("a", encoding="utf-8") as file:
            file.write(text)


def plain(value: Any) -> Any:
    """``value`` with dataclasses, tuples and sets turned into JSON types."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, (set, frozenset)):
        return sorted(plain(v) for v in value)
    return value
