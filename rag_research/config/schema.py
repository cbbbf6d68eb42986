"""The root of a configuration: what one run is made of.

Component slots are open: each registry entry brings its own ``Config`` dataclass, kept in the
component's own file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import Any, Literal

from rag_research.config.build import inert, slot
from rag_research.registry import (
    DATASETS,
    DENSE_INDEXES,
    ENCODERS,
    LLMS,
    RERANKERS,
    SYSTEMS,
)
from rag_research.runtime.seeding import check_seed_and_threads


@dataclass(frozen=True, slots=True)
class BudgetConfig:
    """Limits on what a run may spend; ``None`` is no limit. Reaching one ends the run cleanly.

    Args:
        calls: LLM calls that are not answered by the cache.
        tokens: input plus output tokens of those calls.
        money: in the currency of the prices below.
        input_price: money per million input tokens.
        output_price: money per million output tokens.
    """

    calls: int | None = inert(None)
    tokens: int | None = inert(None)
    money: float | None = inert(None)
    input_price: float = inert(0.0)
    output_price: float = inert(0.0)

    def __post_init__(self) -> None:
        for name in ("calls", "tokens", "money", "input_price", "output_price"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < inf:
                raise ValueError(f"{name}: got {value}, expected 0 or more.")
        if self.money is not None and not (self.input_price or self.output_price):
            raise ValueError(
                f"money: got {self.money} without prices, which limits nothing. Set input_price "
                "and output_price, in money per million tokens, or limit tokens or calls."
            )


@dataclass(frozen=True, slots=True)
class EvaluationConfig:
    """How answers are scored.

    Args:
        metrics: names of answer metrics; see ``rag_research/evaluation/metrics``.
        recall_at: cut-offs of passage recall and full-chain recall.
        bootstrap_samples: resamples behind each 95 % interval.
    """

    metrics: tuple[str, ...] = ("exact_match", "substring_match", "token_f1", "answer_length")
    recall_at: tuple[int, ...] = (2, 5)
    bootstrap_samples: int = 1000

    def __post_init__(self) -> None:
        if min(self.recall_at, default=1) < 1:
            raise ValueError(f"recall_at: got {list(self.recall_at)}, expected cut-offs from 1.")
        if self.bootstrap_samples < 1:
            raise ValueError(
                f"bootstrap_samples: got {self.bootstrap_samples}, expected at least 1."
            )


@dataclass(frozen=True, slots=True)
class RunConfig:
    """How a run happens; nothing here changes its results.

    Args:
        out: directory of results; ``None`` names one after system, dataset and fingerprint.
        store: directory of artefacts and the LLM cache, shared by runs.
        concurrency: questions solved at the same time.
        cache: answer repeated LLM requests from the store.
        dry_run: print the estimated calls, tokens, money and time, and stop.
    """

    out: str | None = inert(None)
    store: str = inert(".rag_research")
    concurrency: int = inert(8)
    cache: bool = inert(True)
    dry_run: bool = inert(False)


@dataclass(frozen=True, slots=True)
class LoggerConfig:
    """Where metrics are logged besides the run directory.

    Args:
        wandb: ``offline`` never asks for a key.
        project: wandb project.
        group: wandb group, to keep the runs of one experiment together.
        tags: wandb tags.
    """

    wandb: Literal["disabled", "offline", "online"] = inert("disabled")
    project: str = inert("rag_research")
    group: str | None = inert(None)
    tags: tuple[str, ...] = inert(())


@dataclass(frozen=True, slots=True)
class ExperimentConfig:
    """Everything one evaluation run needs.

    Args:
        system: what answers.
        dataset: what is asked, over which corpus.
        llm: the frozen reader.
        encoder: the frozen text encoder.
        dense: how dense vectors are searched.
        reranker: what reorders retrieved passages.
        prompts: folder of prompt overrides.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:i``; LLM and encoder settings refer to it.
        threads: CPU threads of one operator; LLM and encoder settings refer to it.
        seed: governs every random choice.
        limit: ask only this many questions, the first ones of a seeded shuffle if
            ``shuffle``, else of the file.
        shuffle: shuffle the questions by ``seed`` before ``limit``.
    """

    system: Any = slot(SYSTEMS)
    dataset: Any = slot(DATASETS)
    llm: Any = slot(LLMS)
    encoder: Any = slot(ENCODERS)
    dense: Any = slot(DENSE_INDEXES, "flat")
    reranker: Any = slot(RERANKERS, "none")
    prompts: str | None = None
    device: str = inert("auto")
    threads: int = inert(1)
    seed: int = 0
    limit: int | None = None
    shuffle: bool = False
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    budget: BudgetConfig = field(default_factory=BudgetConfig)
    run: RunConfig = field(default_factory=RunConfig)
    logger: LoggerConfig = field(default_factory=LoggerConfig)

    def __post_init__(self) -> None:
        check_seed_and_threads(self.seed, self.threads)
        if self.limit is not None and self.limit < 1:
            raise ValueError(f"limit: got {self.limit}, expected at least 1.")
