"""What runs cost in LLM calls, tokens and seconds, and how often the store answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rag_research.evaluation.results import Results
from rag_research.evaluation.sheets import Sheet


@dataclass(frozen=True, slots=True)
class Calls:
    """LLM calls of a run, and how many of them asked no model.

    Args:
        asked: what index and questions are made of, work found in the store included.
        reused: found in the store: replies in the cache, and whole artefacts.
    """

    asked: int = 0
    reused: int = 0

    @property
    def rate(self) -> float | None:
        """Reused share of all calls, 0 to 1; ``None`` for a run without calls."""
        return self.reused / self.asked if self.asked else None

    def __add__(self, other: Calls) -> Calls:
        return Calls(self.asked + other.asked, self.reused + other.reused)


def calls_of(results: Results) -> Calls:
    """The calls of one run.

    Questions count what their own calls found in the cache, so an interruption changes
    nothing. An index counts as reused what this run did not send to the model for it.
    """
    index, query = results.index_total, results.query_total
    sent = results.provenance.get("calls_sent", {}).get("index", index.calls)
    return Calls(index.calls + query.calls, max(0, index.calls - sent) + query.cached_calls)


def cost_sheet(results: Sequence[Results], notes: Sequence[str] = ()) -> Sheet:
    """Calls, tokens and seconds of runs, and how often the store answered.

    Args:
        results: the first is what factors refer to.
        notes: more to say below the table.
    """
    head = ["run", "LLM calls", "reused", "sent", "tokens/q", "x", "s/q", "x", "index tokens"]
    rows = []
    first = results[0]
    for run in results:
        calls, index = calls_of(run), run.index_total
        rows.append(
            [
                run.name,
                str(calls.asked),
                _percent(calls.rate),
                str(calls.asked - calls.reused),
                f"{_tokens(run):.0f}",
                _factor(_tokens(run), _tokens(first)),
                f"{_seconds(run):.2f}",
                _factor(_seconds(run), _seconds(first)),
                str(index.input_tokens + index.output_tokens),
            ]
        )
    total = sum((calls_of(run) for run in results), Calls())
    return Sheet(
        "Cost",
        [head, *rows],
        [
            f"LLM calls of index and questions; reused: the share that the store answered, "
            f"{_percent(total.rate)} of {total.asked} calls in all. Tokens are input plus output "
            f"of a question, cached calls included; x is the factor to {first.name}. Cached "
            "replies take no seconds.",
            *notes,
        ],
    )


def _tokens(run: Results) -> float:
    return (run.query_total.input_tokens + run.query_total.output_tokens) / max(1, run.asked)


def _seconds(run: Results) -> float:
    return run.seconds.get("a_question", 0.0)


def _factor(value: float, reference: float) -> str:
    return f"{value / reference:.2f}" if reference else "-"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"
