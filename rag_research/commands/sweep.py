"""``rag-research sweep``: the same as ``python evaluate/sweep.py``."""

from __future__ import annotations

import argparse

from rag_research.commands import Subparsers, add_settings


def add_to(commands: Subparsers) -> None:
    """Add this command to the parser."""
    parser = commands.add_parser(
        "sweep",
        help="run a wandb sweep file, with or without a server",
        description="Run the trials of a wandb sweep file on this machine and print them, the "
        "best first. The same command goes on after an interruption. workers=N trials=N "
        "out=FOLDER search_seed=N steer the sweep; all other settings go to every trial.",
    )
    parser.add_argument("file", help="a YAML file, or the name of one in configs/sweep")
    parser.add_argument(
        "--register",
        action="store_true",
        help="register the file on a wandb server instead, and print the command of its agents",
    )
    add_settings(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run or register the sweep."""
    from rag_research.evaluation.sweeps.command import sweep_command

    return sweep_command(arguments.file, arguments.settings, arguments.register)
