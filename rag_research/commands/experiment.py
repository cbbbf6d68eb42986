"""``rag-research experiment``: the same as ``python evaluate/experiment.py``."""

from __future__ import annotations

import argparse

from rag_research.commands import Subparsers, add_format, add_settings


def add_to(commands: Subparsers) -> None:
    """Add this command to the parser."""
    parser = commands.add_parser(
        "experiment",
        help="run a table of a paper",
        description="Run the rows of a published table on its data sets and print the outcome "
        "with the published figures beside it. The tables are the files of configs/paper.",
        epilog="size=small runs a small local model on sampled questions; datasets=[2wiki] and "
        "rows=[T2RAG,standard] choose some. The same command goes on after an interruption.",
    )
    parser.add_argument("table", metavar="NAME", help="a file of configs/paper")
    add_settings(parser)
    add_format(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the table."""
    from rag_research.evaluation.experiment import run_command

    return run_command(arguments.table, arguments.settings, arguments.format)
