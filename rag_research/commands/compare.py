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
    parser.add_argument(
        "--minus",
        nargs="+",
        type=Path,
        metavar="RUN",
        help="runs of another system on the same data sets, in the same order: differences on "
        "each data set and over all questions together",
    )
    add_format(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Compare the runs."""
    from rag_research.evaluation.comparison import pooled_command, run_command

    if arguments.minus:
        return pooled_command(arguments.runs, arguments.minus, arguments.format)
    return run_command(arguments.runs, arguments.format)
