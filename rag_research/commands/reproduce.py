"""``rag-research reproduce``: a finished run once more, and whether it comes out the same."""

from __future__ import annotations

import argparse
from pathlib import Path

from rag_research.commands import Subparsers, add_settings


def add_to(commands: Subparsers) -> None:
    """Add this command to the parser."""
    parser = commands.add_parser(
        "reproduce",
        help="run a finished run again and compare the outcome",
        description="Run a finished run again from the configuration in its results.json, with "
        "the replies in its store, into a new folder; compare predictions and figures byte for "
        "byte, and say what differs. Exits with 1 if anything came out differently.",
        epilog="Settings such as run.store=FOLDER, run.out=FOLDER or dataset.path=FOLDER say "
        "where things are now.",
    )
    parser.add_argument("source", type=Path, metavar="RUN", help="a run's folder or results.json")
    add_settings(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Reproduce the run."""
    from rag_research.evaluation.reproduce import run_command

    return run_command(arguments.source, arguments.settings)
