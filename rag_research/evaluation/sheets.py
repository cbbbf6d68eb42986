"""Tables of whole commands, rendered as text, markdown or LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from rag_research.evaluation.paired import Gap
from rag_research.evaluation.results import Results
from rag_research.evaluation.table import aligned, cells, is_percent, label, notes

_TEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", "<": r"$<$", ">": r"$>$", "[": r"{[}", "]": r"{]}",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sheet:
    """One table.

    Args:
        title: what it shows.
        cells: rows of equal length, the head first.
        notes: what a reader must know, one paragraph each.
    """

    title: str
    cells: Sequence[Sequence[str]]
    notes: Sequence[str] = ()


def render(sheets: Sequence[Sheet], form: str) -> str:
    """Tables one below the other.

    Args:
        sheets: in order.
        form: ``text``, ``markdown`` or ``latex`` (needs the package ``booktabs``).
    """
    return "\n\n".join(_RENDERERS[form](sheet) for sheet in sheets)


def results_sheet(results: Sequence[Results], title: str) -> Sheet:
    """Figures and costs, one row a run."""
    return Sheet(title, cells(results), notes(results))


_GAPS = (
    "Run minus reference over the same questions, with 95 % bootstrap intervals; EM, sub-EM, F1, "
    "recall and full chain in percent points."
)


def gaps_sheet(gaps: Sequence[Gap], reference: str) -> Sheet:
    """Paired differences, one row a run, one column a metric.

    Of recall and full chain only the largest cut-off is shown; JSON has all.
    """
    table = _gaps_table("run", gaps)
    note = f"{_GAPS} p is two-sided, after Holm over the {len(table) - 1} rows of a column."
    return Sheet(f"Paired differences to {reference}", table, [note])


def pooled_sheet(gaps: Sequence[Gap], run: str, reference: str) -> Sheet:
    """Differences of :func:`~rag_research.evaluation.paired.pooled_gaps`, one row a data set."""
    note = (
        f"{_GAPS} p is two-sided, after Holm over the data sets; that of all questions together "
        "stands alone."
    )
    return Sheet(f"{run} minus {reference}", _gaps_table("data set", gaps), [note])


def _gaps_table(head: str, gaps: Sequence[Gap]) -> list[list[str]]:
    columns = _shown_columns(list(dict.fromkeys(gap.metric for gap in gaps)))
    rows: dict[str, dict[str, str]] = {}
    for gap in gaps:
        rows.setdefault(gap.name, {})[gap.metric] = _gap(gap)
    table = [[name, *(row.get(c, "-") for c in columns)] for name, row in rows.items()]
    return [[head, *(label(column) for column in columns)], *table]


def _shown_columns(columns: Sequence[str]) -> list[str]:
    last = {column.partition("@")[0]: column for column in columns}
    return [column for column in columns if last[column.partition("@")[0]] == column]


def _gap(gap: Gap) -> str:
    scale, digits = (100.0, 1) if is_percent(gap.metric) else (1.0, 2)
    mean, low, high = (scale * x for x in (gap.difference, gap.low, gap.high))
    return f"{mean:+.{digits}f} [{low:+.{digits}f}, {high:+.{digits}f}] p={gap.holm:.3f}"


def _text(sheet: Sheet) -> str:
    widths = [max(map(len, column)) for column in zip(*sheet.cells, strict=True)]
    lines = [
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in sheet.cells
    ]
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    notes_below = ["", *sheet.notes] if sheet.notes else []
    return "\n".join([sheet.title, "", lines[0], rule, *lines[1:], *notes_below])


def _markdown(sheet: Sheet) -> str:
    table = [f"**{sheet.title}**", "", *aligned(sheet.cells)]
    return "\n".join([*table, *chain.from_iterable(("", note) for note in sheet.notes)])


def _latex(sheet: Sheet) -> str:
    head, *rows = ([_tex(cell) for cell in row] for row in sheet.cells)
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_tex(sheet.title)}}}",
        rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}",
        r"\toprule",
        rf"{' & '.join(head)} \\",
        r"\midrule",
        *(rf"{' & '.join(row)} \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
        *(rf"\par\smallskip\footnotesize {_tex(note)}" for note in sheet.notes),
        r"\end{table}",
    ]
    return "\n".join(lines)


def _tex(text: str) -> str:
    return "".join(_TEX.get(letter, letter) for letter in text)


_RENDERERS: Mapping[str, Callable[[Sheet], str]] = {
    "text": _text,
    "markdown": _markdown,
    "latex": _latex,
}
