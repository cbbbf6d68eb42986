"""What a metric is: a versioned function of one answer and its question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any, Literal

from rag_research.config.schema import EvaluationConfig
from rag_research.errors import ConfigError, RagResearchError
from rag_research.registry import METRICS
from rag_research.types import Answer, Question

_RANKED = ("recall_at_k", "full_chain_recall_at_k")  # columns of evaluation.recall_at

Gold = Literal["answers", "gold_passages", ""]


class Metric:
    """A registered metric; call it like the function it was made from.

    Args:
        function: ``(answer, question) -> float | None``; ``None`` means that the metric does
            not apply to this pair. A ranked metric takes the cut-off ``k`` as third argument.
        name: registered name.
        version: raised when the same answers would get other values.
        needs: the field of the question without which the metric does not apply.
        wrong: the value of a question that failed; ``None`` leaves failed questions out.
    """

    def __init__(
        self,
        function: Callable[..., float | None],
        name: str,
        version: int,
        needs: Gold,
        wrong: float | None,
    ) -> None:
        update_wrapper(self, function)
        self.function = function
        self.name = name
        self.version = version
        self.needs = needs
        self.wrong = wrong

    def __call__(self, answer: Answer, question: Question, *cutoff: int) -> float | None:
        if not self.applies(question):
            return None
        return self.function(answer, question, *cutoff)

    def applies(self, question: Question) -> bool:
        """Whether the question has the gold data this metric compares with."""
        return not self.needs or bool(getattr(question, self.needs))


def register_metric(
    name: str, version: int, *, needs: Gold = "answers", wrong: float | None = 0.0
) -> Callable[[Callable[..., float | None]], Metric]:
    """Decorator that makes a function a metric and adds it to ``METRICS``.

    Args:
        name: registered name, the file's name.
        version: raised when the same answers would get other values.
        needs: the field of the question without which the metric does not apply.
        wrong: the value of a question that failed; ``None`` leaves failed questions out.
    """

    def add(function: Callable[..., float | None]) -> Metric:
        metric = Metric(function, name, version, needs, wrong)
        METRICS.register(name)(metric)
        return metric

    return add


@dataclass(frozen=True, slots=True)
class Column:
    """One column of results: a metric, with its cut-off where it has one.

    Args:
        key: how results name it: ``"token_f1"``, ``"recall@5"``.
        metric: what computes it.
        cutoff: ``(k,)`` or empty.
    """

    key: str
    metric: Metric
    cutoff: tuple[int, ...] = ()

    def value(self, answer: Answer, question: Question) -> float | None:
        """The value for one answer.

        Raises:
            RagResearchError: the metric raised; a broken metric ends the run, since a table
                with a silently missing value would mislead.
        """
        try:
            value: Any = self.metric(answer, question, *self.cutoff)
            return None if value is None else float(value)
        except Exception as error:
            raise RagResearchError(
                f"Metric {self.key} (version {self.metric.version}) failed on question "
                f"{question.id!r}, answer {answer.text!r}: {type(error).__name__}: {error}. "
                "The answers are kept; mend the metric and run the same command again."
            ) from error


def columns(config: EvaluationConfig) -> Sequence[Column]:
    """The columns a configuration asks for, in table order.

    Raises:
        UnknownNameError: a metric that is not registered.
        ConfigError: one that needs a cut-off.
    """
    if ranked := [name for name in config.metrics if name in _RANKED]:
        raise ConfigError(
            f"evaluation.metrics: {ranked[0]} needs a cut-off. It is a column for each of "
            "evaluation.recall_at; leave it out of metrics."
        )
    answers = [Column(name, METRICS.get(name)) for name in config.metrics]
    recall = [Column(f"recall@{k}", METRICS.get("recall_at_k"), (k,)) for k in config.recall_at]
    chain = METRICS.get("full_chain_recall_at_k")
    return [*answers, *recall, *(Column(f"full_chain@{k}", chain, (k,)) for k in config.recall_at)]
