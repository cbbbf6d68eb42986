"""``rag-research compare``: paired differences of finished runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from rag_research.commands import Subparsers, add_format


def add_to(commands: Subparsers) -> None:
    """Add this command to the parser."""
    parser = commands.add_parser(
        "compare",
        help="compare finished runs",
        description="Print finished runs on the same questions in one table, with paired "
        "differences of each to the first. Runs on other data, questions or metric versions are "
        "refused.",
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="directory of a run")
    add_format(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Compare the runs."""
    from rag_research.evaluation.comparison import run_command

    return run_command(arguments.runs, arguments.format)
