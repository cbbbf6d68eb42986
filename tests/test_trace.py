import json
from pathlib import Path

import pytest

from rag_research.trace import Trace, plain
from rag_research.types import Hit, Triplet, Usage


def test_steps_nest_and_keep_their_order() -> None:
    trace = Trace("q1")
    with trace.step("round", round=1), trace.step("retrieve") as step:
        step.record(hits=(Hit("p3", 0.5),))
    with trace.step("answer"):
        pass
    lines = list(trace.lines())
    assert [(x["seq"], x["parent"], x["step"]) for x in lines] == [
        (0, None, "round"),
        (1, 0, "retrieve"),
        (2, None, "answer"),
    ]
    assert lines[0]["round"] == 1
    assert lines[1]["hits"] == [{"id": "p3", "score": 0.5}]


def test_calls_go_to_the_innermost_step_and_costs_to_their_purpose() -> None:
    trace = Trace("q1")
    with trace.step("outer"):
        with trace.step("inner"):
            trace.record_call("decompose", Usage(1, 0, 10, 3, 0.5), {"prompt": "a@1"})
        trace.record_call("answer", Usage(1, 1, 20, 4, 0.0), {"prompt": "b@1"})
    outer, inner = trace.lines()
    assert [c["prompt"] for c in outer["calls"]] == ["b@1"]
    assert [c["prompt"] for c in inner["calls"]] == ["a@1"]
    assert trace.usage["decompose"].input_tokens == 10
    assert trace.total_usage() == Usage(2, 1, 30, 7, 0.5)
    assert trace.total_usage().weighted_tokens == 30 + 4 * 7


def test_a_failing_step_says_so_and_the_error_goes_on() -> None:
    trace = Trace("q1")
    with pytest.raises(ValueError, match="bad"), trace.step("outer"):
        raise ValueError("bad")
    with trace.step("next"):
        pass
    assert [(x["parent"], x.get("error")) for x in trace.lines()] == [
        (None, "ValueError: bad"),
        (None, None),
    ]


def test_written_lines_are_appended_json(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    for question in ("q1", "q2"):
        trace = Trace(question)
        with trace.step("answer", text="Ωmega 東京"):
            pass
        trace.write(path)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [r["question"] for r in rows] == ["q1", "q2"]
    assert rows[0]["text"] == "Ωmega 東京"
    assert rows[0]["calls"] == []


def test_plain_turns_dataclasses_tuples_and_sets_into_json_types() -> None:
    value = {"t": (Triplet("a", "b", "c"),), "s": {3, 1}}
    assert plain(value) == {
        "t": [{"subject": "a", "predicate": "b", "object": "c"}],
        "s": [1, 3],
    }
