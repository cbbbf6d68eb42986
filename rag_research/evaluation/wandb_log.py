"""Weights & Biases logging of a run; the only file of the evaluation that imports wandb."""

from __future__ import annotations

import os
from typing import Any

from rag_research.config.build import to_dict
from rag_research.config.schema import ExperimentConfig
from rag_research.evaluation.results import Results
from rag_research.training.callbacks.wandb_mode import load_wandb, wandb_mode

_SPLIT = "test"
_FILES = (
    "config.yaml",
    "predictions.jsonl",
    "costs.jsonl",
    "failures.jsonl",
    "traces.jsonl",
    "results.json",
)
_SHOWN = ("id", "question", "answer", "golds", "rounds")


def log_run(results: Results, config: ExperimentConfig) -> None:
    """Log configuration, metrics as ``split/metric``, costs, predictions, plots and files.

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
    purpose = f"logger.wandb={logger.wandb}"
    wandb = load_wandb(purpose)
    run = wandb.init(
        mode=wandb_mode(logger.wandb, purpose),
        project=logger.project,
        group=logger.group or os.environ.get("WANDB_RUN_GROUP"),
        job_type="evaluate",
        tags=list(logger.tags) or None,
        name=f"{results.system}-{results.dataset}-{results.fingerprint}",
        dir=str(results.directory),
        config=to_dict(config),
    )
    run.log({**scalars(results), f"{_SPLIT}/predictions": _table(wandb, results)})
    run.log({f"{_SPLIT}/{name}_plot": plot for name, plot in _plots(wandb, results).items()})
    artifact = wandb.Artifact(f"results-{results.fingerprint}", type="results")
    for name in _FILES:
        if (results.directory / name).is_file():
            artifact.add_file(str(results.directory / name))
    run.log_artifact(artifact)
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


def _plots(wandb: Any, results: Results) -> dict[str, Any]:
    """Questions by rounds, tokens by stage and purpose, recall by cut-off."""
    rounds = [[str(bar.rounds), 100 * bar.share] for bar in results.by_rounds]
    stages = (("index", results.index_usage), ("query", results.query_usage))
    tokens = [
        [f"{stage} {purpose}", usage.input_tokens + usage.output_tokens]
        for stage, usages in stages
        for purpose, usage in usages.items()
    ]
    recall = [
        [int(name.partition("@")[2]), 100 * interval.mean]
        for name, interval in results.metrics.items()
        if interval is not None and name.startswith("recall@")
    ]
    plots = {}
    for name, rows, columns, draw in (
        ("rounds", rounds, ("rounds", "questions in percent"), wandb.plot.bar),
        ("tokens", tokens, ("purpose", "tokens"), wandb.plot.bar),
        ("recall", recall, ("passages", "recall in percent"), wandb.plot.line),
    ):
        if rows:
            table = wandb.Table(columns=list(columns), data=rows)
            plots[name] = draw(table, *columns, title=f"{results.name}: {name}")
    return plots
