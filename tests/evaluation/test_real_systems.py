"""The package's own systems under the runner: equal bytes at any concurrency, all files there."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from rag_research.evaluation.results import Results
from rag_research.evaluation.runner import evaluate
from rag_research.llm.base import Request

pytest.importorskip("faiss")
pytest.importorskip("bm25s")


def reply(request: Request) -> str:
    """Depends on nothing but the request: a word of the prompt, in the form its purpose wants."""
    text = request.messages[-1].content
    words = [word.strip('.,?"[]') for word in text.split() if word[:1].isupper()] or ["nothing"]
    chosen = words[int(hashlib.sha256(text.encode()).hexdigest(), 16) % len(words)]
    if request.purpose == "decompose":
        rows = [[chosen, "is related to", "?x"], ["?x", "is related to", "?y"]]
        return json.dumps({"triplets": rows})
    if request.purpose == "resolve":
        return json.dumps({"triplets": [[words[0], "is related to", chosen]]})
    if request.purpose in ("reflect", "evolve_query"):
        return json.dumps({"missing": chosen, "sufficient": False, "question": f"Is {chosen}?"})
    if request.purpose == "extract":
        return json.dumps([[words[0], "is related to", chosen]])
    if request.purpose in ("extract_for_question", "refine"):
        return json.dumps({"triplets": [[words[0], "is related to", chosen]]})
    if request.purpose.startswith("openie"):
        return json.dumps({"named_entities": [chosen], "triples": [[chosen, "is in", "it"]]})
    return chosen


def run(lab: Any, system: str, concurrency: int) -> Results:
    config = lab.config(
        system=system,
        dataset="sample_world",
        encoder="hashing",
        dense="flat",
        reranker="none",
        limit=6,
        run={"out": str(lab.root / f"{system}{concurrency}"), "concurrency": concurrency},
    )
    return evaluate(config, lab.models(config, reply=reply)[0])


SYSTEMS = ["closed_book", "bm25_rag", "dense_rag", "hybrid_rag", "t2rag", "tog3"]


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_system_gives_equal_bytes_at_any_concurrency(lab: Any, system: str) -> None:
    one, eight = run(lab, system, 1), run(lab, system, 8)
    predictions = (one.directory / "predictions.jsonl").read_bytes()
    assert predictions.count(b"\n") == one.answered == 6
    assert (eight.directory / "predictions.jsonl").read_bytes() == predictions
    assert eight.index_total.calls == one.index_total.calls
    assert eight.metrics == one.metrics
    assert (one.metrics["recall@5"] is None) == (system == "closed_book")
    encoded = one.provenance["models"]["encoder"] is not None
    assert encoded == (system in ("dense_rag", "hybrid_rag", "t2rag", "tog3"))
    assert one.provenance["prompts"]
    traces = (one.directory / "traces.jsonl").read_text().splitlines()
    calls = [call for line in traces for call in json.loads(line)["calls"]]
    assert calls and all(call["messages"] and call["prompt"] for call in calls)


def test_the_cost_of_an_index_found_in_the_store_is_still_reported(lab: Any) -> None:
    first, second = run(lab, "t2rag", 1), run(lab, "t2rag", 8)
    assert first.index_total.calls >= 200
    assert {k: v.input_tokens for k, v in first.index_usage.items()} == {
        k: v.input_tokens for k, v in second.index_usage.items()
    }
