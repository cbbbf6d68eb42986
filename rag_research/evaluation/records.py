"""What is kept of one question: a finished record or a failure, and how they are written.

``predictions.jsonl`` holds only what the same seed and the same LLM replies give again, byte
for byte, at any concurrency; seconds and cached calls go to ``costs.jsonl``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rag_research.runtime.text_files import write_text
from rag_research.trace import Trace, plain
from rag_research.types import Answer, Hit, Question, Span, Triplet, Usage

_DIGITS = 6  # of scores and metric values in files


@dataclass(frozen=True, slots=True)
class Record:
    """A question that was answered.

    Args:
        question: as it was asked, to notice a changed data set.
        answer: what the system returned.
        usage: cost by purpose.
        trace: the trace's lines.
        seconds: wall-clock time of the question, waiting for its turn at shared models
            included, loading them not.
        share: wall-clock time since the question finished before it, or since asking began;
            the shares of a run add up to the time it took, however many ran at once.
        prompts: fingerprints of the prompts used so far in the run.
    """

    question: str
    answer: Answer
    usage: Mapping[str, Usage]
    trace: Sequence[Mapping[str, Any]]
    seconds: float
    share: float = 0.0
    prompts: Mapping[str, str] = field(default_factory=dict)

    def to_plain(self) -> dict[str, Any]:
        """JSON types, as the item log keeps them."""
        value: dict[str, Any] = plain(self)
        value["answer"]["facts"] = [list(fact) for fact in self.answer.facts]
        value["answer"]["evidence"] = [[hit.id, float(hit.score)] for hit in self.answer.evidence]
        kept: dict[str, Any] = storable(value)
        return kept

    @classmethod
    def from_plain(cls, value: Mapping[str, Any]) -> Record:
        """The inverse of :meth:`to_plain`."""
        kept = value["answer"]
        answer = Answer(
            text=kept["text"],
            evidence=tuple(Hit(id, score) for id, score in kept["evidence"]),
            rounds=kept["rounds"],
            facts=tuple(Triplet(*fact) for fact in kept["facts"]),
            stats=kept["stats"],
            spans=tuple(Span(**span) for span in kept.get("spans", ())),
        )
        usage = {purpose: Usage(**cost) for purpose, cost in value["usage"].items()}
        rest = {name: value[name] for name in ("question", "trace", "seconds", "share", "prompts")}
        return cls(answer=answer, usage=usage, **rest)


@dataclass(frozen=True, slots=True)
class Failure:
    """A question that got no answer.

    Args:
        error: type and text of the error.
        details: the traceback.
        usage: what was spent on it.
        trace: the trace's lines up to the error.
    """

    error: str
    details: str
    usage: Mapping[str, Usage]
    trace: Sequence[Mapping[str, Any]]


def prediction_row(
    question: Question, record: Record, values: Mapping[str, float | None]
) -> dict[str, Any]:
    """One line of ``predictions.jsonl``."""
    answer = record.answer
    return {
        "id": question.id,
        "question": question.text,
        "answer": answer.text,
        "golds": list(question.answers),
        "type": question.type,
        "gold_passages": list(question.gold_passages),
        "evidence": [[hit.id, round(float(hit.score), _DIGITS)] for hit in answer.evidence],
        "rounds": answer.rounds,
        "facts": [list(fact) for fact in answer.facts],
        "stats": {k: _rounded(v) for k, v in sorted(answer.stats.items())},
        "metrics": {k: None if v is None else _rounded(v) for k, v in values.items()},
        "tokens": {
            purpose: {"calls": u.calls, "in": u.input_tokens, "out": u.output_tokens}
            for purpose, u in sorted(record.usage.items())
        },
    }


def cost_row(question: Question, record: Record) -> dict[str, Any]:
    """One line of ``costs.jsonl``: what differs from run to run."""
    return {
        "id": question.id,
        "seconds": round(record.seconds, 4),
        "share": round(record.share, 4),
        "usage": {
            purpose: {"cached_calls": u.cached_calls, "seconds": round(u.seconds, 4)}
            for purpose, u in sorted(record.usage.items())
        },
    }


def failure_row(question: Question, failure: Failure) -> dict[str, Any]:
    """One line of ``failures.jsonl``."""
    return {
        "id": question.id,
        "question": question.text,
        "golds": list(question.answers),
        "gold_passages": list(question.gold_passages),
        "error": failure.error,
        "details": failure.details,
        "usage": plain(failure.usage),
    }


def storable(value: Any) -> Any:
    """JSON types with halves of surrogate pairs replaced by ``?``.

    A model's reply may hold them, and no UTF-8 file can.
    """
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.loads(text.encode(errors="replace"))
    return value


def spent(trace: Trace) -> dict[str, Usage]:
    """The cost of a trace by purpose, in a fixed order."""
    return dict(sorted(trace.usage.items()))


def add_usage(costs: Iterable[Mapping[str, Usage]]) -> dict[str, Usage]:
    """The sum of costs, purpose by purpose."""
    total: dict[str, Usage] = {}
    for cost in costs:
        for purpose, usage in cost.items():
            total[purpose] = total.get(purpose, Usage()) + usage
    return dict(sorted(total.items()))


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write JSON lines at once: a reader sees the old file or the whole new one."""
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    write_text(path, text)


def _rounded(value: float) -> float:
    return round(float(value), _DIGITS)
