"""``rag-research evaluate``: the same as ``python evaluate/run.py``."""

from __future__ import annotations

import argparse

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
    """Run, print the table; 1 if a question failed or the budget ran out."""
    from rag_research.evaluation.compare import evaluate_all
    from rag_research.evaluation.table import table

    results = evaluate_all(arguments.settings)
    if results:
        print(table(results))
    return int(any(r.failed or r.partial for r in results))
