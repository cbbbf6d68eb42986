"""A limit on what calls may cost; reaching it ends a run cleanly, with finished work kept."""

from __future__ import annotations

from collections.abc import Mapping

from rag_research.config.schema import BudgetConfig
from rag_research.errors import BudgetExceededError
from rag_research.llm.base import LLM, Completion, Request
from rag_research.llm.traced import usage_of
from rag_research.types import Usage

_MILLION = 1_000_000


class BudgetedLLM:
    """Refuses to start a call once the budget is spent.

    It stands inside the cache, so repeated requests cost nothing. The number of calls is
    never exceeded. Tokens and money of a call are known only when it ends: they can be
    exceeded by the calls that were under way when the limit was reached.

    Args:
        llm: what answers.
        config: the limits and the prices.
    """

    def __init__(self, llm: LLM, config: BudgetConfig) -> None:
        self.llm = llm
        self.config = config
        self.spent = Usage()
        self.started = 0

    @property
    def identity(self) -> Mapping[str, str]:
        """The identity of what answers."""
        return self.llm.identity

    @property
    def money(self) -> float:
        """``(input_tokens * input_price + output_tokens * output_price) / 1,000,000``."""
        spent_on_input = self.spent.input_tokens * self.config.input_price
        spent_on_output = self.spent.output_tokens * self.config.output_price
        return (spent_on_input + spent_on_output) / _MILLION

    async def complete(self, request: Request) -> Completion:
        """Answer one request within the budget.

        Raises:
            BudgetExceededError: a limit is reached; the call was not started.
        """
        self._check()
        self.started += 1  # a call that fails has been made, too
        completion = await self.llm.complete(request)
        self.spent += usage_of(completion)
        return completion

    def _check(self) -> None:
        tokens = self.spent.input_tokens + self.spent.output_tokens
        spent = {"calls": self.started, "tokens": tokens, "money": self.money}
        for name, amount in spent.items():
            limit = getattr(self.config, name)
            if limit is not None and amount >= limit:
                raise BudgetExceededError(
                    f"The budget is spent: budget.{name}={limit:g}, used {amount:g} "
                    f"({self.started} calls, {self.spent.input_tokens} input and "
                    f"{self.spent.output_tokens} output tokens, money {self.money:.4f}). What is "
                    f"finished is kept: run the same command with a larger budget.{name} to go on."
                )
