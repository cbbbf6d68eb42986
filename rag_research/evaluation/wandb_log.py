"""Weights & Biases logging of a run; the only file of the evaluation that imports wandb."""

from __future__ import annotations

import inspect
from typing import Any, Literal

from rag_research.config.build import to_dict
from rag_research.config.schema import ExperimentConfig
from rag_research.errors import missing_extra
from rag_research.evaluation.results import Results

_SPLIT = "test"
_SHOWN = ("id", "question", "answer", "golds", "rounds")


def log_run(results: Results, config: ExperimentConfig) -> None:
    """Log configuration, metrics as ``split/metric``, costs and a table of predictions.

    ``logger.wandb=online`` without a key falls back to ``offline``, so a run never waits for
    somebody to type one; ``wandb sync`` uploads it later. The mode used is printed by wandb.

    Args:
        results: a run whose files are written.
        config: its ``logger`` says where to.

    Raises:
        MissingExtraError: logging was asked for and wandb is not installed.
    """
    logger = config.logger
    if logger.wandb == "disabled":
        return
    try:
        import wandb
    except ImportError as error:
        raise missing_extra("wandb", "wandb", f"logger.wandb={logger.wandb}") from error
    run = wandb.init(
        mode=_mode(wandb, logger.wandb),
        project=logger.project,
        group=logger.group,
        tags=list(logger.tags) or None,
        name=f"{results.system}-{results.dataset}-{results.fingerprint}",
        dir=str(results.directory),
        config=to_dict(config),
    )
    run.log({**scalars(results), f"{_SPLIT}/predictions": _table(wandb, results)})
    run.finish(exit_code=int(results.failed > 0))


def scalars(results: Results) -> dict[str, float]:
    """The numbers of a run under their logged names."""
    values: dict[str, float] = {
        f"{_SPLIT}/{name}": interval.mean
        for name, interval in results.metrics.items()
        if interval is not None
    }
    values |= {f"{_SPLIT}/{name}": value for name, value in results.means.items()}
    for stage, usage in (("index", results.index_total), ("query", results.query_total)):
        values |= {
            f"{stage}/calls": usage.calls,
            f"{stage}/input_tokens": usage.input_tokens,
            f"{stage}/output_tokens": usage.output_tokens,
            f"{stage}/weighted_tokens": usage.weighted_tokens,
        }
    for name in ("asked", "answered", "failed"):
        values[f"{_SPLIT}/{name}"] = getattr(results, name)
    return values | {f"{_SPLIT}/seconds_{k}": v for k, v in results.seconds.items()}


def _table(wandb: Any, results: Results) -> Any:
    rows = results.predictions()
    columns = [*_SHOWN, *results.metrics]
    data = [
        [row[n] if n != "golds" else " | ".join(row[n]) for n in _SHOWN]
        + [row["metrics"].get(n) for n in results.metrics]
        for row in rows
    ]
    return wandb.Table(columns=columns, data=data)


def _mode(wandb: Any, asked: str) -> Literal["online", "offline"]:
    """Online only if a key is there already: looked for without asking or connecting."""
    if asked != "online":
        return "offline"
    if "prompt" in inspect.signature(wandb.login).parameters:
        return "online" if wandb.login(verify=False, prompt=False) else "offline"
    return "online" if wandb.api.api_key else "offline"  # wandb before 0.31
