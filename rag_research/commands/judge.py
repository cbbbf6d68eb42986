"""``rag-research judge``: the same as ``python evaluate/judge.py``."""

from __future__ import annotations

import argparse

from rag_research.commands import Subparsers, add_settings


def add_to(commands: Subparsers) -> None:
    """Add this command to the parser."""
    parser = commands.add_parser(
        "judge",
        help="compare the answers of finished runs in pairs",
        description="Let a frozen language model compare the answers of finished runs in pairs, "
        "each pair in both orders, and print win rates, ratings and the favour for a position. "
        "The same command goes on after an interruption.",
    )
    parser.add_argument("runs", nargs="+", metavar="RUN", help="directory of a finished run")
    add_settings(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Judge the runs; directories and settings may stand in any order."""
    from rag_research.evaluation.judge_run import run_command

    return run_command([*arguments.runs, *arguments.settings])
