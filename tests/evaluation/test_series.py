"""Runs of one command: what is loaded, what is run again, and what the store answered."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from rag_research.evaluation.costs import Calls, calls_of
from rag_research.evaluation.results import Results
from rag_research.evaluation.runner import evaluate
from rag_research.evaluation.series import code_note, finished, load_dataset
from rag_research.prompts.library import PromptLibrary

Change = Callable[[dict[str, Any]], None]


def provenance(**facts: Any) -> Change:
    return lambda value: value["provenance"].update(facts)


@pytest.mark.parametrize(
    ("change", "loaded"),
    [
        (provenance(prompts={"t2rag/resolve": PromptLibrary()["t2rag/resolve"].fingerprint}), True),
        (provenance(prompts={"t2rag/resolve": "0-deadbeef"}), False),
        (provenance(prompts={"t2rag/removed": "1-deadbeef"}), False),
        (provenance(metric_versions={"token_f1": 0}), False),
        (provenance(dataset={"corpus_fingerprint": "other"}), False),
        (lambda value: value.update(fingerprint="other"), False),
        (lambda value: value.update(failed=1), False),
        (lambda value: value.update(partial=True), False),
        (lambda value: value.update(format=0), False),
    ],
)
def test_a_run_is_loaded_if_running_it_again_could_not_change_it(
    change: Change, loaded: bool, lab: Any
) -> None:
    config = lab.config()
    dataset = load_dataset(config)
    assert finished(config, dataset) is None
    path = evaluate(config, lab.models(config)[0]).directory / "results.json"
    assert finished(config, dataset) == Results.load(path.parent)
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))
    assert (finished(config, dataset) is not None) == loaded


def test_calls_that_asked_no_model(lab: Any) -> None:
    config = lab.config()
    models, _ = lab.models(config, cache=True)
    first = evaluate(config, models)
    assert calls_of(first) == Calls(11, 0)
    config = lab.config(system={"name": "overlap", "k": 2}, run={"out": str(lab.root / "again")})
    again = evaluate(config, models)
    assert calls_of(again) == Calls(11, 11)
    assert calls_of(first) + calls_of(again) == Calls(22, 11)
    assert Calls(22, 11).rate == 0.5
    assert Calls().rate is None


def test_runs_by_different_code_are_told_apart(lab: Any) -> None:
    config = lab.config()
    run = evaluate(config, lab.models(config)[0])
    others = [
        replace(run, name=name, provenance={"code": {"commit": commit}})
        for name, commit in (("a", "1" * 40), ("b", "2" * 40), ("c", "1" * 40))
    ]
    assert code_note([others[0], others[2]]) == []
    [note] = code_note(others)
    assert note.endswith("111111111111 a, c; 222222222222 b.")
