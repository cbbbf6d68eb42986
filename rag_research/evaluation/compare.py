"""Paired comparison of runs on the same questions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from rag_research.errors import DataError
from rag_research.evaluation.metrics import Metric
from rag_research.evaluation.results import Results
from rag_research.evaluation.statistics import Difference, paired_bootstrap
from rag_research.registry import METRICS

_COMPARED = ("exact_match", "token_f1")
_RANKED = {"recall": "recall_at_k", "full_chain": "full_chain_recall_at_k"}


def compare(
    a: Results, b: Results, columns: Sequence[str] = _COMPARED, samples: int = 1000
) -> dict[str, Difference]:
    """The difference ``a - b`` by column, over the questions both were asked.

    A failed question has its metric's value for failed questions, as in the results
    themselves. Questions without a value in either run are left out of a column, and a column
    without any is left out of the outcome.

    Args:
        a: a finished run.
        b: another one on the same data set.
        columns: which columns to compare.
        samples: bootstrap resamples.

    Raises:
        DataError: the runs share no question, or a question's wording differs.
    """
    shared = shared_questions(a, b)
    found = {column: paired_values(a, b, column, shared) for column in columns}
    return {
        column: paired_bootstrap(*values, samples) for column, values in found.items() if values[0]
    }


def paired_values(
    a: Results, b: Results, column: str, questions: Sequence[str]
) -> tuple[list[float], list[float]]:
    """Values of both runs on the questions that have one in either.

    Args:
        a, b: finished runs.
        column: of the results.
        questions: ids, see :func:`shared_questions`.
    """
    first, second = _values(a, column), _values(b, column)
    ids = [id for id in questions if id in first and id in second]
    return [first[id] for id in ids], [second[id] for id in ids]


def shared_questions(a: Results, b: Results) -> list[str]:
    """Ids of the questions both runs were asked, answered or not, in the order of ``a``.

    Raises:
        DataError: the runs share no question, or a question's wording differs.
    """
    first, second = asked_questions(a), asked_questions(b)
    shared = [id for id in first if id in second]
    changed = [id for id in shared if first[id] != second[id]]
    if not shared or changed:
        about = f"question {changed[0]!r} differs" if changed else "they share no question"
        raise DataError(
            f"{a.directory} and {b.directory} cannot be compared: {about}. Compare runs on the "
            "same data set, with the same seed, limit and shuffle."
        )
    return shared


def asked_questions(results: Results) -> dict[str, str]:
    """Id -> wording of the answered questions, then of the failed ones."""
    rows = [*results.predictions(), *_lines(results.directory / "failures.jsonl")]
    return {str(row["id"]): str(row["question"]) for row in rows}


def metric_of(column: str) -> Metric:
    """The metric behind a column of results: ``recall@5`` -> ``recall_at_k``."""
    name = column.partition("@")[0]
    metric: Metric = METRICS.get(_RANKED.get(name, name))
    return metric


def bootstrap_samples(run: Results) -> int:
    """``evaluation.bootstrap_samples`` of a finished run; the default where it names none."""
    settings = run.provenance.get("config", {}).get("evaluation", {})
    return int(settings.get("bootstrap_samples", 1000))


def comparison(results: Sequence[Results], columns: Sequence[str] = _COMPARED) -> str:
    """Each later run against the first, as lines of text; empty for a single run.

    Args:
        results: finished runs; the configuration of the first says how many resamples.
        columns: which columns to compare.
    """
    lines = []
    for other in results[1:]:
        found = compare(other, results[0], columns, bootstrap_samples(results[0]))
        for column, difference in found.items():
            gap = difference.interval
            lines.append(
                f"{other.name} - {results[0].name}, {column}: {100 * gap.mean:+.1f} "
                f"[{100 * gap.low:+.1f}, {100 * gap.high:+.1f}] over {gap.n} questions"
            )
    if lines:
        lines.insert(0, "Paired differences in percent, with 95 % bootstrap intervals:")
    return "\n".join(lines)


def _lines(path: Path) -> list[Mapping[str, object]]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _values(results: Results, column: str) -> dict[str, float]:
    if results.metrics.get(column) is None:  # not even of its failures
        return {}
    values = {
        str(row["id"]): float(row["metrics"][column])
        for row in results.predictions()
        if row["metrics"].get(column) is not None
    }
    metric = metric_of(column)
    if metric.wrong is not None:
        gold = {"answers": "golds", "gold_passages": "gold_passages"}.get(metric.needs)
        failed = _lines(results.directory / "failures.jsonl")
        values |= {str(row["id"]): metric.wrong for row in failed if not gold or row[gold]}
    return values
