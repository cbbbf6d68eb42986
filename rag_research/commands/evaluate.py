"""``rag-research evaluate``: the same as ``python evaluate/run.py``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from rag_research.commands import Subparsers, add_settings


def add_to(commands: Subparsers) -> None:
    """Add this command to the parser."""
    parser = commands.add_parser(
        "evaluate",
        help="evaluate systems on a data set",
        description="Evaluate one system, or several (system=closed_book,t2rag), on a data set "
        "and print one table. The same command goes on after an interruption.",
    )
    add_settings(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Evaluate what the settings ask for."""
    return evaluate_words(arguments.settings)


def evaluate_words(settings: Sequence[str]) -> int:
    """Run, print the table or, with ``run.dry_run=true``, the estimates.

    Args:
        settings: ``key=value``, each with or without leading dashes.

    Returns:
        1 if a question failed or the budget ran out, else 0.
    """
    from rag_research.evaluation.command import evaluate_all, experiments
    from rag_research.evaluation.dry_run import estimate
    from rag_research.evaluation.table import table

    configs = experiments(settings)
    if configs[0].run.dry_run:
        print("\n\n".join(str(estimate(config)) for config in configs))
        return 0
    results = evaluate_all(configs)
    print(table(results))
    return int(any(result.failed or result.partial for result in results))
