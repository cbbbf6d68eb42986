"""The budget: the call that would exceed it is not started."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path

import pytest

from rag_research.config import build
from rag_research.config.schema import BudgetConfig
from rag_research.errors import BudgetExceededError, ConfigError, LLMError
from rag_research.llm.base import Completion, Message, Request
from rag_research.llm.budget import BudgetedLLM
from rag_research.llm.cache import CachedLLM
from rag_research.llm.scripted import Scripted


def ask(text: str = "w " * 10) -> Request:
    return Request((Message("user", text),))


def budgeted(config: BudgetConfig) -> tuple[BudgetedLLM, Scripted]:
    model = Scripted.of(lambda request: "x y")  # 10 tokens in, 2 out
    return BudgetedLLM(model, config), model


async def test_no_limit() -> None:
    llm, _ = budgeted(BudgetConfig(input_price=1.0, output_price=10.0))
    for _ in range(3):
        await llm.complete(ask())
    assert (llm.spent.calls, llm.spent.input_tokens, llm.spent.output_tokens) == (3, 30, 6)
    assert llm.money == pytest.approx((30 * 1.0 + 6 * 10.0) / 1e6)


@pytest.mark.parametrize(
    ("config", "calls"),
    [
        (BudgetConfig(calls=0), 0),
        (BudgetConfig(calls=2), 2),
        (BudgetConfig(tokens=24), 2),  # 12 tokens a call; spent after exactly two
        (BudgetConfig(tokens=25), 3),
        (BudgetConfig(money=1.0, input_price=1e6 / 40, output_price=1e6 / 8), 2),  # 0.5 a call
    ],
)
async def test_limits(config: BudgetConfig, calls: int) -> None:
    llm, model = budgeted(config)
    for _ in range(calls):
        await llm.complete(ask())
    with pytest.raises(BudgetExceededError):
        await llm.complete(ask())
    assert len(model.requests) == calls


async def test_words() -> None:
    llm, _ = budgeted(BudgetConfig(calls=1))
    await llm.complete(ask())
    words = r"budget.calls=1, used 1 \(1 calls, 10 input and 2 output.*larger budget.calls"
    with pytest.raises(BudgetExceededError, match=words):
        await llm.complete(ask())


async def test_concurrent_calls_never_exceed_the_number() -> None:
    running = asyncio.Event()

    class Slow:
        identity = {"backend": "slow"}  # noqa: RUF012
        calls = 0

        async def complete(self, request: Request) -> Completion:
            self.calls += 1
            await running.wait()
            return Completion("x", 1, 1)

    slow = Slow()
    llm = BudgetedLLM(slow, BudgetConfig(calls=3))
    tasks = [asyncio.create_task(llm.complete(ask())) for _ in range(10)]
    await asyncio.sleep(0)
    running.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert slow.calls == 3
    assert sum(isinstance(r, BudgetExceededError) for r in results) == 7


async def test_failures_count_as_calls_and_cached_replies_do_not(tmp_path: Path) -> None:
    llm = BudgetedLLM(Scripted.of(["a"]), BudgetConfig(calls=2))
    cached = CachedLLM(llm, tmp_path / "cache.sqlite")
    for _ in range(5):
        await cached.complete(ask("same"))
    with pytest.raises(LLMError):
        await cached.complete(ask("other"))
    with pytest.raises(BudgetExceededError):
        await cached.complete(ask("third"))
    assert (llm.started, llm.spent.calls) == (2, 1)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"money": 5.0}, r"budget: money: got 5\.0 without prices, which limits nothing"),
        ({"money": -1.0, "input_price": 1.0}, r"budget: money: got -1\.0, expected 0 or more"),
        ({"calls": -1}, "budget: calls: got -1"),
        ({"tokens": -1}, "budget: tokens: got -1"),
        ({"input_price": -0.5}, r"budget: input_price: got -0\.5"),
        ({"money": 1.0, "output_price": math.nan}, "budget: output_price: got nan"),
        ({"money": 1.0, "output_price": math.inf}, "budget: output_price: got inf"),
    ],
)
def test_limits_that_limit_nothing_are_refused(settings: dict[str, float], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        build(BudgetConfig, settings, "budget")


def test_one_price_is_enough_for_a_limit_of_money() -> None:
    assert build(BudgetConfig, {"money": 0, "output_price": 2}).money == 0.0
