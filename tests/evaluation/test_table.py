"""What a reader of the table sees."""

from __future__ import annotations

from pathlib import Path

from rag_research.evaluation.results import Results
from rag_research.evaluation.statistics import Interval
from rag_research.evaluation.table import purposes, table
from rag_research.types import Usage


def results(name: str, **changes: object) -> Results:
    values: dict[str, object] = {
        "name": name,
        "system": name,
        "dataset": "d",
        "fingerprint": "f",
        "questions": 10,
        "asked": 10,
        "answered": 10,
        "failed": 0,
        "partial": False,
        "metrics": {"exact_match": Interval(0.5, 0.2, 0.8, 10), "recall@5": None},
        "means": {"rounds": 2.0, "unique_chunks": 7.5},
        "index_usage": {"extract": Usage(20, 0, 2000, 100)},
        "query_usage": {"answer": Usage(10, 4, 1000, 50), "resolve": Usage(20, 0, 500, 50)},
        "seconds": {"a_question": 1.234, "latency_mean": 2.0},
        "directory": Path("out"),
    }
    return Results(**{**values, **changes})  # type: ignore[arg-type]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_every_figure_stands_under_its_name() -> None:
    lines = table([results("t2rag")]).splitlines()
    row = dict(zip(cells(lines[0]), cells(lines[2]), strict=True))
    assert row == {
        "system": "t2rag",
        "dataset": "d",
        "EM": "50.0 ±30.0",
        "rounds": "2.0",
        "chunks": "7.5",
        "asked/answered/failed": "10/10/0",
        "index calls": "20",
        "index tokens": "2000 / 100",
        "calls/q": "3.0",
        "tokens/q": "150 / 10",
        "weighted/q": "190",  # 150 + 4 x 10
        "s/q": "1.23",
    }


def test_lines_are_aligned_and_a_missing_value_is_a_dash() -> None:
    bare = results("closed_book", means={"rounds": 0.0}, index_usage={}, metrics={})
    lines = table([results("t2rag"), bare]).splitlines()[:4]
    assert len({len(line) for line in lines}) == 1
    assert cells(lines[3])[cells(lines[0]).index("EM")] == "-"
    assert cells(lines[3])[cells(lines[0]).index("chunks")] == "-"


def test_failures_partial_runs_and_missing_gold_are_spelt_out() -> None:
    text = table(
        [
            results("a", answered=8, failed=2),
            results("b", partial=True, asked=4, answered=4),
            results("c", metrics={"token_f1": Interval(0.5, 0.2, 0.8, 6)}),
        ]
    )
    assert "FAILED: 2 questions of a, see out/failures.jsonl" in text
    assert "PARTIAL: b asked 4 of 10 questions" in text
    assert "c: questions without gold data left out: F1 over 6." in text


def test_costs_by_purpose() -> None:
    assert "| query | answer | 10 | 4 | 1000 | 50 |" in purposes(results("a"))
    assert "| index | extract | 20 | 0 | 2000 | 100 |" in purposes(results("a"))


def test_columns_without_any_gold_data_are_named_not_scored() -> None:
    bare = {"exact_match": None, "answer_length": Interval(3, 2, 4, 10), "recall@5": None}
    lines = table([results("t2rag", metrics=bare)]).splitlines()
    assert "EM" not in cells(lines[0]) and "words" in cells(lines[0])
    assert "t2rag: no question has gold answers, so there is no EM." in lines
    assert "t2rag: no question has gold passages, so there is no recall@5." in lines
    # A system that never retrieves has no recall, gold passages or not.
    closed = results("closed_book", metrics=bare, means={"rounds": 0.0})
    assert "gold passages" not in table([closed])
