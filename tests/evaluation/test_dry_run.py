"""The dry run measures real prompts, spends nothing, and bounds what a run then takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rag_research.config.build import build
from rag_research.config.schema import BudgetConfig, ExperimentConfig
from rag_research.evaluation.dry_run import CountingLLM, Estimate, estimate, guess_tokens
from rag_research.evaluation.runner import evaluate
from rag_research.llm.base import Message, Request
from rag_research.types import Usage


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("abcd", 1), ("abcde", 2), ("東京", 2), ("to 東京!", 3)]
)
def test_tokens_are_guessed_from_characters(text: str, tokens: int) -> None:
    assert guess_tokens(text) == tokens


async def test_replies_have_the_asked_shape_and_are_taken_at_their_limit() -> None:
    row = {"type": "array", "items": {"type": "string"}, "minItems": 3, "maxItems": 3}
    schema = {
        "type": "object",
        "properties": {
            "triplets": {"type": "array", "items": row},
            "sure": {"type": "boolean"},
            "count": {"type": "integer"},
            "kind": {"enum": ["bridge", "comparison"]},
        },
    }
    llm = CountingLLM()
    request = Request((Message("user", "x" * 40),), 100, schema=schema, purpose="decompose")
    reply = await llm.complete(request)
    row_text = '["?open1", "?open1", "?open1"]'
    assert reply.text == (
        f'{{"triplets": [{row_text}, {row_text}], "sure": false, "count": 1, "kind": "bridge"}}'
    )
    assert llm.usage == {"decompose": Usage(calls=1, input_tokens=14, output_tokens=100)}


def test_an_estimate_of_the_small_system_equals_its_run(lab: Any) -> None:
    config = lab.config()
    guessed = estimate(config)
    assert guessed.index["summarise"].calls == 1
    assert guessed.query["answer"].calls == 10
    assert guessed.query["answer"].output_tokens == 10 * 256
    real = evaluate(config, lab.models(config)[0])
    assert guessed.query["answer"].calls == real.query_usage["answer"].calls


def test_t2rag_on_the_sample_world_uses_every_round(tmp_path: Path) -> None:
    pytest.importorskip("faiss")
    values = {
        "system": {"name": "t2rag", "rounds": 3},
        "dataset": "sample_world",
        "llm": {"name": "scripted"},
        "encoder": "hashing",
        "limit": 8,
        "run": {"store": str(tmp_path / "store")},
    }
    guessed = estimate(build(ExperimentConfig, values))
    assert guessed.query["decompose"].calls == 8
    assert guessed.query["resolve"].calls == 24
    assert guessed.query["answer"].calls == 8
    assert guessed.index["openie_entities"].calls == guessed.passages
    assert not (tmp_path / "store").exists()


def test_tog3_on_the_sample_world_asks_every_agent_in_every_round() -> None:
    pytest.importorskip("faiss")
    values = {
        "system": {"name": "tog3", "horizon": 2},
        "dataset": "sample_world",
        "llm": {"name": "scripted"},
        "encoder": "hashing",
        "limit": 8,
    }
    guessed = estimate(build(ExperimentConfig, values))
    calls = {purpose: usage.calls for purpose, usage in guessed.query.items()}
    assert {calls[agent] for agent in ("respond", "reflect", "evolve_query")} == {16}
    # The constructor works after each round; a chunk is read once for a question.
    assert 0 < calls["refine"] <= 16
    assert 0 < calls["extract_for_question"] <= 2 * 5 * 8
    assert guessed.index["extract"].calls == guessed.passages


def test_money_time_and_a_small_budget_are_spelt_out() -> None:
    prices = BudgetConfig(calls=3, input_price=0.5, output_price=2.0)
    cost = {"answer": Usage(10, 0, 2_000_000, 500_000)}
    text = str(Estimate("s", {}, cost, 5, 10, prices, local=True))
    assert "money    2.00 at most" in text  # 2 x 0.5 + 0.5 x 2
    # 2,000,000 / 190 + 500,000 / 20 seconds; a tenth of the replies for the first figure.
    assert "time     217.1 minutes with short replies, 592.1 at most" in text
    assert "budget   calls: 3 may not be enough for 10.00" in text
    bare = str(Estimate("s", {}, cost, 5, 10, BudgetConfig(), local=False))
    assert "money    unknown: set budget.input_price" in bare
    assert "time     depends on the server" in bare
