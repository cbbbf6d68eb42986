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
    """Evaluate what the settings ask for."""
    from rag_research.evaluation.command import run_command

    return run_command(arguments.settings)
