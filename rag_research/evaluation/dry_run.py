"""What a run would cost, before anything is spent.

The real system runs on a few passages and questions of the real data, but against a model
that only counts: it measures every rendered prompt and replies with values shaped like the
asked schema. No model is loaded or called. Calls and tokens are then scaled to the whole
corpus and to all questions.

How far to trust it: prompts are the real ones, so input tokens are good to about a quarter
(tokens are guessed from characters). Output tokens are an upper bound, every reply taken at
its length limit. Rounds are those of a model that never settles a question, which is the
most a system with early stopping can use. Replies in the cache are not counted as saved.
No two replies name the same thing, so every chunk of ToG-3's index makes a community of its own:
one summary a chunk, an upper bound (the paper's indexes have one community for six relations).

Measured once, T2RAG with the 0.5B model on six questions of the sample world: 17,570 input
tokens foretold and 12,241 used (fewer rounds), 5,088 output tokens at most and 438 used.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from rag_research.config.build import build
from rag_research.config.schema import BudgetConfig, ExperimentConfig
from rag_research.corpus.corpus import Corpus
from rag_research.corpus.dataset import Dataset
from rag_research.evaluation.runner import choose_questions
from rag_research.llm.base import Completion, Request
from rag_research.prompts.library import PromptLibrary
from rag_research.registry import DATASETS, ENCODERS, RERANKERS
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.runtime.loops import run_async
from rag_research.systems.assemble import build_system
from rag_research.systems.base import Parts
from rag_research.trace import Trace
from rag_research.types import Usage

PASSAGES = 60
QUESTIONS = 4
INPUT_RATE = 190.0  # tokens a second of the default model on one core; see the README's table
OUTPUT_RATE = 20.0
SHORT_REPLIES = 0.1  # of the length limit; see the measurement above
_WORDS = 20
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Estimate:
    """The expected cost of one run.

    Args:
        system: registered name.
        index: cost of the index by purpose.
        query: cost of all questions by purpose.
        passages: size of the corpus.
        questions: how many will be asked.
        prices: prices a million tokens, and the budget.
        local: the model runs on this machine.
    """

    system: str
    index: Mapping[str, Usage]
    query: Mapping[str, Usage]
    passages: int
    questions: int
    prices: BudgetConfig
    local: bool

    @property
    def total(self) -> Usage:
        """Index and questions together."""
        return sum([*self.index.values(), *self.query.values()], Usage())

    @property
    def money(self) -> float:
        """At the prices of ``budget``, which are 0 unless set."""
        total = self.total
        return (
            total.input_tokens * self.prices.input_price
            + total.output_tokens * self.prices.output_price
        ) / 1e6

    def seconds(self, reply_share: float = 1.0) -> float:
        """Model time at the assumed rates of a small local model on one idle core.

        Args:
            reply_share: how long replies are, as a share of their limit.
        """
        output = self.total.output_tokens * reply_share
        return self.total.input_tokens / INPUT_RATE + output / OUTPUT_RATE

    def __str__(self) -> str:
        return "\n".join(
            [
                f"Dry run of {self.system}: {self.passages} passages, {self.questions} questions. "
                "Nothing was sent.",
                *self.costs(),
            ]
        )

    def costs(self) -> list[str]:
        """Calls, tokens, money and time, as lines of a table."""
        lines = [
            f"{'stage':<8}{'purpose':<20}{'calls':>10}{'tokens in':>14}{'out, at most':>14}",
        ]
        for stage, costs in (("index", self.index), ("query", self.query)):
            lines += [
                f"{stage:<8}{purpose:<20}{u.calls:>10,}{u.input_tokens:>14,}{u.output_tokens:>14,}"
                for purpose, u in costs.items()
            ]
        total = self.total
        lines.append(
            f"{'total':<28}{total.calls:>10,}{total.input_tokens:>14,}{total.output_tokens:>14,}"
        )
        priced = self.prices.input_price or self.prices.output_price
        lines.append(
            f"money    {self.money:.2f} at most"
            if priced
            else "money    unknown: set budget.input_price and budget.output_price"
        )
        lines.append(
            f"time     {self.seconds(SHORT_REPLIES) / 60:.1f} minutes with short replies, "
            f"{self.seconds() / 60:.1f} at most, at {INPUT_RATE:.0f} input and "
            f"{OUTPUT_RATE:.0f} output tokens a second (0.5B model, one idle core, batched)"
            if self.local
            else "time     depends on the server; it answers "
            "run.concurrency requests at once, divide by its rate"
        )
        return lines + self._over_budget()

    def _over_budget(self) -> list[str]:
        total = self.total
        tokens = total.input_tokens + total.output_tokens
        limits = (
            ("calls", total.calls, self.prices.calls),
            ("tokens", tokens, self.prices.tokens),
            ("money", self.money, self.prices.money),
        )
        return [
            f"budget   {name}: {limit:,} may not be enough for {need:,.2f}"
            for name, need, limit in limits
            if limit is not None and need > limit
        ]


@dataclass(slots=True)
class CountingLLM:
    """Measures requests and answers with the right shape and no sense.

    Args:
        usage: what was asked so far, by purpose.
        replies: how many there were.
        asked: the last words of the last prompt.
    """

    usage: dict[str, Usage] = field(default_factory=dict)
    replies: int = 0
    asked: str = ""

    @property
    def identity(self) -> Mapping[str, str]:
        """Names itself, so nothing it says is taken for a model's reply."""
        return {"backend": "dry_run"}

    async def complete(self, request: Request) -> Completion:
        """Count the prompt; take the reply at its limit."""
        self.replies += 1
        self.asked = " ".join(request.messages[-1].content.split()[-_WORDS:])
        spent = Usage(
            calls=1,
            input_tokens=sum(guess_tokens(m.content) + 4 for m in request.messages),
            output_tokens=request.max_tokens,
        )
        self.usage[request.purpose] = self.usage.get(request.purpose, Usage()) + spent
        # Not "unknown": a system may take that for an answer that needs no judging.
        text = json.dumps(self._shaped(request.schema)) if request.schema else "something"
        return Completion(text, spent.input_tokens, spent.output_tokens)

    def _shaped(self, schema: Mapping[str, Any], key: str = "") -> Any:
        kind = schema.get("type")
        if "enum" in schema:
            return schema["enum"][0]
        if kind == "object":
            return {k: self._shaped(v, k) for k, v in schema.get("properties", {}).items()}
        if kind == "array":
            size = max(schema.get("minItems", 2), 1)
            prefix = schema.get("prefixItems")
            if prefix:
                return [self._shaped(item) for item in prefix]
            return [self._shaped(schema.get("items", {})) for _ in range(size)]
        if kind in ("integer", "number"):
            return 1
        if kind == "boolean":
            return False
        if key == "question":  # searched for, so it has words that occur in the passages
            return f"{self.asked} {self.replies}?"
        # A variable that nothing binds: the loop goes on. Fields of one object differ.
        return f"?open{self.replies}_{key}" if key else f"?open{self.replies}"


def guess_tokens(text: str) -> int:
    """About how many tokens: four ASCII characters make one, any other character is one."""
    ascii_characters = sum(map(str.isascii, text))
    return -(-ascii_characters // 4) + len(text) - ascii_characters


def estimate(config: ExperimentConfig) -> Estimate:
    """Estimate a run without spending anything.

    Args:
        config: what would be run.

    Raises:
        RagResearchError: the data or configuration cannot be used.
    """
    dataset: Dataset = DATASETS.get(config.dataset.name)(config.dataset).load()
    questions = choose_questions(dataset.questions, config)
    passages = _spread(dataset.corpus.passages, PASSAGES)
    asked = _spread(questions, QUESTIONS)
    llm = CountingLLM()
    parts = Parts(
        llm=llm,
        encoder=ENCODERS.get("hashing")(build(ENCODERS.get("hashing").Config, {})),
        prompts=PromptLibrary(config.prompts),
        dense=config.dense,
        reranker=build(RERANKERS.get("none").Config, {}),
    )
    system = build_system(replace(config, system=_trusting(config.system)), parts)
    with tempfile.TemporaryDirectory() as folder:
        index = system.index(Corpus(passages), ArtifactStore(folder))
        indexing, llm.usage = llm.usage, {}

        async def solve_all() -> None:
            for question in asked:
                await system.solve(question.text, index, Trace(question.id))

        run_async(solve_all())
    return Estimate(
        system=config.system.name,
        index=_scaled(indexing, len(dataset.corpus) / max(1, len(passages))),
        query=_scaled(llm.usage, len(questions) / len(asked)),
        passages=len(dataset.corpus),
        questions=len(questions),
        prices=config.budget,
        local=config.llm.name != "openai_compatible",
    )


def _trusting(system: Any) -> Any:
    """The system without the check of its index against the text.

    Nothing that the counting model says stands in a text, so no work would follow from it.
    """
    graph = getattr(system, "graph", None)
    if graph is None or not hasattr(graph, "support"):
        return system
    return replace(system, graph=replace(graph, support="trusted"))


def _spread(items: Sequence[T], count: int) -> list[T]:
    """``count`` items at equal distances."""
    step = max(1.0, len(items) / count)
    return [items[int(i * step)] for i in range(min(count, len(items)))]


def _scaled(costs: Mapping[str, Usage], factor: float) -> dict[str, Usage]:
    return {
        purpose: replace(
            usage,
            calls=round(usage.calls * factor),
            input_tokens=round(usage.input_tokens * factor),
            output_tokens=round(usage.output_tokens * factor),
        )
        for purpose, usage in sorted(costs.items())
    }
