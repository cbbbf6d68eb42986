"""A record survives the log; predictions carry nothing that differs from run to run."""

from __future__ import annotations

import json
from dataclasses import replace

from rag_research.evaluation.records import Record, cost_row, prediction_row
from rag_research.types import Answer, Hit, Question, Span, Triplet, Usage

RECORD = Record(
    question="Où ?",
    answer=Answer(
        "川", (Hit("p", 1 / 3),), 2, (Triplet("a", "b", "c"),), {"z": 1.0, "unique_chunks": 2}
    ),
    usage={"b": Usage(2, 1, 30, 4, 0.5), "a": Usage(1, 0, 10, 2, 0.25)},
    trace=[{"seq": 0, "step": "retrieve"}],
    seconds=1.5,
    share=0.75,
    prompts={"answer/passages": "1-abcdef00"},
)
QUESTION = Question("q", "Où ?", ("川",), "bridge", ("p",))


def test_a_record_comes_back_from_json_as_it_went() -> None:
    assert Record.from_plain(json.loads(json.dumps(RECORD.to_plain()))) == RECORD


def test_spans_come_back_and_records_from_before_there_were_any_still_load() -> None:
    spans = (Span("d", 3, 6, "川 x"),)
    record = replace(RECORD, answer=replace(RECORD.answer, spans=spans))
    kept = json.loads(json.dumps(record.to_plain()))
    assert Record.from_plain(kept) == record
    del kept["answer"]["spans"]
    assert Record.from_plain(kept) == RECORD


def test_a_prediction_row_by_hand() -> None:
    row = prediction_row(QUESTION, RECORD, {"token_f1": 2 / 3, "recall@2": None})
    assert row == {
        "id": "q",
        "question": "Où ?",
        "answer": "川",
        "golds": ["川"],
        "type": "bridge",
        "gold_passages": ["p"],
        "evidence": [["p", 0.333333]],
        "rounds": 2,
        "facts": [["a", "b", "c"]],
        "stats": {"unique_chunks": 2.0, "z": 1.0},
        "metrics": {"token_f1": 0.666667, "recall@2": None},
        "tokens": {
            "a": {"calls": 1, "in": 10, "out": 2},
            "b": {"calls": 2, "in": 30, "out": 4},
        },
    }
    assert list(row["tokens"]) == ["a", "b"]


def test_seconds_and_cached_calls_go_to_the_cost_row() -> None:
    assert cost_row(QUESTION, RECORD) == {
        "id": "q",
        "seconds": 1.5,
        "share": 0.75,
        "usage": {
            "a": {"cached_calls": 0, "seconds": 0.25},
            "b": {"cached_calls": 1, "seconds": 0.5},
        },
    }
