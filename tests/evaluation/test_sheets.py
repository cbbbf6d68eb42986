"""Tables as text, markdown and LaTeX; words that choose from a list."""

import pytest

from rag_research.errors import ConfigError
from rag_research.evaluation.choices import check_known, split_choices
from rag_research.evaluation.paired import Gap
from rag_research.evaluation.sheets import Sheet, gaps_sheet, render

SHEET = Sheet("A & B", [["run", "EM"], ["no_chunks", "5.0 ±1.0"]], ["In percent."])


def test_text() -> None:
    assert render([SHEET], "text") == (
        "A & B\n\nrun              EM\n-------------------\nno_chunks  5.0 ±1.0\n\nIn percent."
    )


def test_markdown() -> None:
    assert render([SHEET], "markdown").splitlines() == [
        "**A & B**",
        "",
        "| run       |       EM |",
        "|-----------|---------:|",
        "| no_chunks | 5.0 ±1.0 |",
        "",
        "In percent.",
    ]


def test_latex_escapes_what_latex_reads() -> None:
    lines = render([SHEET], "latex").splitlines()
    assert r"\caption{A \& B}" in lines
    assert r"\begin{tabular}{lr}" in lines
    assert r"no\_chunks & 5.0 $\pm$1.0 \\" in lines
    assert lines[0] == r"\begin{table}" and lines[-1] == r"\end{table}"


def test_sheets_stand_one_below_the_other() -> None:
    bare = Sheet("C", [["a", "b"]])
    assert render([bare, bare], "text") == "C\n\na  b\n----\n\nC\n\na  b\n----"


def gap(name: str, metric: str, difference: float) -> Gap:
    return Gap(name, metric, difference, difference - 0.1, difference + 0.1, 30, 0.02, 0.04)


def test_differences_in_percent_points_and_the_largest_cut_off() -> None:
    gaps = [
        gap("a", "exact_match", -0.05),
        gap("b", "exact_match", 0.0),
        gap("a", "recall@2", 0.1),
        gap("a", "recall@5", 0.2),
        gap("a", "hops", 0.5),
    ]
    sheet = gaps_sheet(gaps, "full")
    assert sheet.title == "Paired differences to full"
    assert sheet.cells == [
        ["run", "EM", "recall@5", "hops"],
        ["a", "-5.0 [-15.0, +5.0] p=0.040", "+20.0 [+10.0, +30.0] p=0.040",
         "+0.50 [+0.40, +0.60] p=0.040"],
        ["b", "+0.0 [-10.0, +10.0] p=0.040", "-", "-"],
    ]  # fmt: skip
    assert "after Holm over the 2 rows" in sheet.notes[0]


def test_choices_are_taken_out_of_the_words() -> None:
    words = ["rows=[a, b]", "limit=3", "size=small", "rows=c"]
    chosen, others = split_choices(words, ["rows", "size", "datasets"])
    assert chosen == {"rows": ["c"], "size": ["small"], "datasets": []}
    assert others == ["limit=3"]
    assert split_choices(["rows=[a, b]"], ["rows"])[0] == {"rows": ["a", "b"]}
    check_known("rows", ["a"], {"a": 1})
    with pytest.raises(ConfigError, match=r"rows: there is no 'full_'\. Did you mean 'full'\?"):
        check_known("rows", ["full_"], ["full", "other"])
