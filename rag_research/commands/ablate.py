"""``rag-research ablate``: the same as ``python evaluate/ablate.py``."""

from __future__ import annotations

import argparse

from rag_research.commands import Subparsers, add_format, add_settings


def add_to(commands: Subparsers) -> None:
    """Add this command to the parser."""
    parser = commands.add_parser(
        "ablate",
        help="switch off one part of a system at a time",
        description="Run a system and each of its ablations on the same questions, and print "
        "what each part was worth: paired differences with intervals, and costs. Finished runs "
        "are loaded, repeated LLM calls come from the store, and the same command goes on after "
        "an interruption.",
        epilog="ablations=[no_chunks,single_round] runs only those.",
    )
    add_settings(parser)
    add_format(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the study."""
    from rag_research.evaluation.ablate import run_command

    return run_command(arguments.settings, arguments.format)
