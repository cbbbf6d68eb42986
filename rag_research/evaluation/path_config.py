"""Settings of ``evaluate/retrieval.py``."""

from __future__ import annotations

from dataclasses import dataclass

from rag_research.config.schema import ExperimentConfig
from rag_research.training.selector_config import SelectorDataConfig


@dataclass(frozen=True, slots=True)
class RetrievalConfig(ExperimentConfig):
    """Those of ``evaluate/run.py``, and what path retrieval is compared with.

    Args:
        selectors: names or paths of path selectors. All others are compared with the first,
            whose settings the candidate graphs are made with. Without one, only BM25, dense
            and hybrid search are compared.
        training: training questions of the gradient-boosting baselines, which are left out
            without them.
    """

    selectors: tuple[str, ...] = ()
    training: SelectorDataConfig | None = None

    def __post_init__(self) -> None:
        ExperimentConfig.__post_init__(self)
        if not self.evaluation.recall_at:
            raise ValueError("evaluation.recall_at: expected at least one cut-off.")
