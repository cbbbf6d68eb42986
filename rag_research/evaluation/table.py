"""Results of one or several runs as an aligned table, readable as text and as markdown."""

from __future__ import annotations

from collections.abc import Sequence

from rag_research.evaluation.results import Results
from rag_research.evaluation.statistics import Interval

_LABELS = {
    "exact_match": "EM",
    "substring_match": "sub-EM",
    "token_f1": "F1",
    "answer_length": "words",
}
_PERCENT = frozenset({"exact_match", "substring_match", "token_f1"})
_LEGEND = (
    "± is half the 95 % bootstrap interval; EM, sub-EM, F1, recall and full chain in percent, "
    "failed questions counted as wrong. Tokens of a stage are in / out, cached calls included; "
    "weighted is in + 4 x out per question. s/q is the time of asking divided by the questions, "
    "model loading left out, cached replies taking none."
)


def table(results: Sequence[Results]) -> str:
    """A markdown table with one row a run and a line that explains it.

    Columns that are empty in every row are left out.

    Args:
        results: runs, in row order.
    """
    return "\n".join([*aligned(cells(results)), "", *notes(results)])


def cells(results: Sequence[Results]) -> list[list[str]]:
    """The head, then one row a run; columns that are empty in every row are left out."""
    rows = [_row(result) for result in results]
    names = list(dict.fromkeys(name for row in rows for name in row))
    names = [name for name in names if any(row.get(name, "-") != "-" for row in rows)]
    return [names, *([row.get(name, "-") for name in names] for row in rows)]


def notes(results: Sequence[Results]) -> list[str]:
    """What the cells mean, and what a reader must know about single runs."""
    return [_LEGEND, *(note for result in results for note in _notes(result))]


def aligned(cells: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a markdown table whose columns line up, the first one to the left.

    Args:
        cells: rows of equal length, the head first.
    """
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    head, *rows = (_line(row, widths) for row in cells)
    rule = "|".join("-" * (w + 1) + (":" if i else "-") for i, w in enumerate(widths))
    return [head, f"|{rule}|", *rows]


def label(column: str) -> str:
    """How tables call a column of results: ``exact_match`` -> ``EM``."""
    return _LABELS.get(column, column)


def is_percent(column: str) -> bool:
    """Whether tables show a column times 100."""
    return column in _PERCENT or "@" in column


def _row(result: Results) -> dict[str, str]:
    row = {"system": result.name, "dataset": result.dataset}
    for key, interval in result.metrics.items():
        row[label(key)] = shown(key, interval)
    for key, name in (("rounds", "rounds"), ("unique_chunks", "chunks")):
        row[name] = f"{result.means[key]:.1f}" if key in result.means else "-"
    row["asked/answered/failed"] = f"{result.asked}/{result.answered}/{result.failed}"
    asked = max(1, result.asked)
    index, query = result.index_total, result.query_total
    row["index calls"] = str(index.calls) if index.calls else "-"
    row["index tokens"] = f"{index.input_tokens} / {index.output_tokens}" if index.calls else "-"
    row["calls/q"] = f"{query.calls / asked:.1f}"
    row["tokens/q"] = f"{query.input_tokens / asked:.0f} / {query.output_tokens / asked:.0f}"
    row["weighted/q"] = f"{query.weighted_tokens / asked:.0f}"
    row["s/q"] = f"{result.seconds['a_question']:.2f}" if result.seconds else "-"
    return row


def shown(column: str, interval: Interval | None) -> str:
    """A mean with half its interval, in percent where the column is."""
    if interval is None:
        return "-"
    scale = 100.0 if is_percent(column) else 1.0
    return f"{scale * interval.mean:.1f} ±{scale * interval.half_width:.1f}"


def _notes(result: Results) -> list[str]:
    told = []
    if result.partial:
        told.append(
            f"PARTIAL: {result.name} asked {result.asked} of {result.questions} questions, then "
            "the budget was spent. The same command with a larger budget goes on from there."
        )
    if result.failed:
        told.append(
            f"FAILED: {result.failed} questions of {result.name}, see "
            f"{result.directory / 'failures.jsonl'}. The same command asks them again."
        )
    short = [
        f"{label(key)} over {interval.n}"
        for key, interval in result.metrics.items()
        if interval is not None and interval.n < result.asked and key != "answer_length"
    ]
    if short:
        told.append(f"{result.name}: questions without gold data left out: {', '.join(short)}.")
    return [*told, *_unscored(result), *_rounds(result)]


def _unscored(result: Results) -> list[str]:
    """Which columns are empty for want of gold data; not recall of a system that never looks."""
    empty = [k for k, interval in result.metrics.items() if interval is None and result.asked]
    answers = [label(key) for key in empty if "@" not in key and key != "answer_length"]
    passages = [key for key in empty if "@" in key and result.means.get("rounds", 0) > 0]
    return [
        f"{result.name}: no question has gold {kind}, so there is no {', '.join(columns)}."
        for kind, columns in (("answers", answers), ("passages", passages))
        if columns
    ]


def _rounds(result: Results) -> list[str]:
    """The histogram of rounds as a line, for systems that may take more than one."""
    if all(bar.rounds <= 1 for bar in result.by_rounds):
        return []
    bars = []
    for bar in result.by_rounds:
        match = bar.metrics.get("exact_match")
        scored = "" if match is None else f" (EM {100 * match:.1f})"
        bars.append(f"{bar.rounds}: {100 * bar.share:.1f} %{scored}")
    return [f"{result.name}, questions by rounds: {', '.join(bars)}."]


def purposes(result: Results) -> str:
    """The costs of one run by stage and purpose, as a markdown table."""
    lines = [
        "| stage | purpose | calls | cached | tokens in | tokens out |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for stage, usages in (("index", result.index_usage), ("query", result.query_usage)):
        lines += [
            f"| {stage} | {purpose or '(none)'} | {u.calls} | {u.cached_calls} "
            f"| {u.input_tokens} | {u.output_tokens} |"
            for purpose, u in usages.items()
        ]
    return "\n".join(lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [
        cell.rjust(width) if i else cell.ljust(width)
        for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "| " + " | ".join(padded) + " |"
