"""Questions side by side: what each run answered, how right it was, where runs disagree."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_research.evaluation.compare import metric_of
from rag_research.evaluation.results import Results
from rag_research.text.normalise import normalise_answer

_RANKED_BY = ("token_f1", "exact_match", "substring_match")
_JUDGED_BY = ("exact_match", "substring_match", "token_f1")


@dataclass(frozen=True, slots=True)
class Standing:
    """How runs did on one question.

    Args:
        mean: of the ranking column over the runs, failed ones as wrong; ``None`` without gold.
        spread: highest minus lowest of it.
        disagree: values differ, or, without gold, the answers do.
    """

    mean: float | None
    spread: float
    disagree: bool


def question_rows(runs: Sequence[Results]) -> list[dict[str, Any]]:
    """One row a question, in the order of the first run, failed ones last.

    Returns:
        ``id``, ``text``, ``golds``, ``gold_passages``, ``type``; ``mean``, ``spread`` and
        ``disagree`` (see :class:`Standing`); ``runs``: what each run made of it, ``None`` for
        a run that was not asked.
    """
    told = [_outcomes(run) for run in runs]
    ids = list(dict.fromkeys(id for rows in told for id in rows))
    ranked = next((c for c in _RANKED_BY if any(c in run.metrics for run in runs)), "")
    rows = []
    for id in ids:
        found = [rows.get(id) for rows in told]
        first = next(row for row in found if row is not None)
        own = [None if row is None else shown_outcome(row) for row in found]
        place = standing([row for row in own if row is not None], ranked)
        rows.append(
            {
                "id": id,
                "text": first["question"],
                "golds": first["golds"],
                "gold_passages": first["gold_passages"],
                "type": first.get("type"),
                "mean": place.mean,
                "spread": place.spread,
                "disagree": place.disagree,
                "runs": own,
            }
        )
    return rows


def shown_outcome(row: Mapping[str, Any]) -> dict[str, Any]:
    """What one run made of a question: a row of predictions with its costs, or of failures."""
    scores = row.get("metrics")
    if scores is None:
        scores = _when_failed(row)
    judged = next((scores[c] for c in _JUDGED_BY if scores.get(c) is not None), None)
    costs = _costs(row)
    return {
        "answer": row.get("answer"),
        "error": row.get("error"),
        "scores": scores,
        "right": None if judged is None else judged >= 1,
        "rounds": row.get("rounds"),
        "stats": row.get("stats", {}),
        "evidence": row.get("evidence", []),
        **{name: sum(cost[name] for cost in costs) for name in ("calls", "in", "out")},
        "seconds": row.get("seconds"),
    }


def standing(outcomes: Sequence[Mapping[str, Any]], column: str) -> Standing:
    """How the runs that were asked did on a question.

    Args:
        outcomes: from :func:`shown_outcome`.
        column: the metric that ranks questions.
    """
    values = [v for row in outcomes if (v := row["scores"].get(column)) is not None]
    if values:
        spread = max(values) - min(values)
        return Standing(sum(values) / len(values), spread, spread > 0)
    answers = {normalise_answer(row["answer"] or "") for row in outcomes}
    return Standing(None, float(len(answers) - 1), len(answers) > 1)


def _costs(row: Mapping[str, Any]) -> list[Mapping[str, int]]:
    """Calls and tokens by purpose, of an answered or of a failed question."""
    if "usage" not in row:
        return list(row.get("tokens", {}).values())
    return [
        {"calls": u["calls"], "in": u["input_tokens"], "out": u["output_tokens"]}
        for u in row["usage"].values()
    ]


def _when_failed(row: Mapping[str, Any]) -> dict[str, float]:
    """The value of a failed question in the columns that judge answers, where gold is known."""
    metrics = {column: metric_of(column) for column in _JUDGED_BY}
    return {
        column: metric.wrong
        for column, metric in metrics.items()
        if metric.wrong is not None and row["golds"]
    }


def _outcomes(run: Results) -> dict[str, dict[str, Any]]:
    rows = [*run.predictions(), *_lines(run, "failures.jsonl")]
    seconds = {str(row["id"]): row["seconds"] for row in _lines(run, "costs.jsonl")}
    return {str(row["id"]): {**row, "seconds": seconds.get(str(row["id"]))} for row in rows}


def _lines(run: Results, name: str) -> list[dict[str, Any]]:
    path = run.directory / name
    if not path.is_file():
        return []
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]
