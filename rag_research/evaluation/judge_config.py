"""Settings of ``evaluate/judge.py``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rag_research.config.build import inert, slot
from rag_research.config.schema import BudgetConfig, RunConfig
from rag_research.registry import LLMS


@dataclass(frozen=True, slots=True)
class JudgeConfig:
    """How finished runs are compared in pairs.

    Args:
        llm: the frozen judge. Take a stronger model than the one that answered.
        prompts: folder of prompt overrides; the judge's prompt is ``judge/pairwise.md``.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:i``; LLM settings refer to it.
        threads: CPU threads of one operator; LLM settings refer to it.
        seed: of the bootstrap.
        limit: compare only the first so many questions of the first run.
        reference: name of the run that has the rating 1600; the first run by default.
        bootstrap_samples: resamples of the questions behind each 95 % interval.
        budget: what judging may spend.
        run: where verdicts and tables go, and how many are asked for at once.
    """

    llm: Any = slot(LLMS)
    prompts: str | None = None
    device: str = inert("auto")
    threads: int = inert(1)
    seed: int = 0
    limit: int | None = None
    reference: str | None = None
    bootstrap_samples: int = 1000
    budget: BudgetConfig = field(default_factory=BudgetConfig)
    run: RunConfig = field(default_factory=RunConfig)

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise ValueError(f"limit must be at least 1, got {self.limit}.")
        if self.bootstrap_samples < 1:
            raise ValueError(f"bootstrap_samples must be at least 1, got {self.bootstrap_samples}.")
