"""The histogram of rounds, from records to results.json and the printed line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rag_research.evaluation.records import Record
from rag_research.evaluation.results import Results
from rag_research.evaluation.rounds import RoundShare, by_rounds
from rag_research.evaluation.runner import evaluate
from rag_research.evaluation.table import table
from rag_research.systems.base import Index
from rag_research.trace import Trace
from rag_research.types import Answer, Question


def test_shares_and_means_by_hand() -> None:
    rounds = {"a": 2, "b": 1, "c": 2, "d": 2}
    values: dict[str, dict[str, float | None]] = {
        "a": {"exact_match": 1.0, "answer_length": 3.0, "recall@2": None},
        "b": {"exact_match": 0.0, "answer_length": 1.0, "recall@2": None},
        "c": {"exact_match": 0.0, "answer_length": 5.0, "recall@2": None},
        "d": {"exact_match": None, "answer_length": 1.0, "recall@2": None},
    }
    answered = [
        (Question(id, "?"), Record("?", Answer("x", rounds=n), {}, [], 0.1))
        for id, n in rounds.items()
    ]
    one, two = by_rounds(answered, values)
    assert one == RoundShare(
        1, 1, 0.25, {"exact_match": 0.0, "answer_length": 1.0, "recall@2": None}
    )
    # d has no gold answer: EM is over a and c; length over all three.
    assert (two.rounds, two.questions, two.share) == (2, 3, 0.75)
    assert two.metrics == {"exact_match": 0.5, "answer_length": 3.0, "recall@2": None}
    assert by_rounds([], {}) == ()


@pytest.fixture
def several_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the test system say that odd countries took two rounds."""
    from rag_research.registry import SYSTEMS

    cls = SYSTEMS.get("overlap")
    solve = cls.solve

    async def longer(self: Any, question: str, index: Index, trace: Trace) -> Answer:
        answer = await solve(self, question, index, trace)
        rounds = 1 + int(question.split()[-2]) % 2
        return Answer(answer.text, answer.evidence, rounds, answer.facts, answer.stats)

    monkeypatch.setattr(cls, "solve", longer)


def test_a_run_saves_loads_and_prints_them(lab: Any, several_rounds: None) -> None:
    config = lab.config()
    results = evaluate(config, lab.models(config)[0])
    # Countries 0, 3, 6, 9 are answered in words, so not exactly: 2 of 5 in either group.
    bars = [(bar.rounds, bar.questions, bar.share) for bar in results.by_rounds]
    assert bars == [(1, 5, 0.5), (2, 5, 0.5)]
    assert [b.metrics["exact_match"] for b in results.by_rounds] == [0.6, 0.6]
    assert Results.load(results.directory).by_rounds == results.by_rounds
    assert "overlap, questions by rounds: 1: 50.0 % (EM 60.0), 2: 50.0 % (EM 60.0)." in table(
        [results]
    )


def test_one_round_for_all_needs_no_line_and_old_results_load(lab: Any) -> None:
    config = lab.config()
    results = evaluate(config, lab.models(config)[0])
    assert "by rounds" not in table([results])
    file = results.directory / "results.json"
    value = json.loads(file.read_text())
    del value["by_rounds"]
    file.write_text(json.dumps(value))
    assert Results.load(results.directory).by_rounds == ()
