"""One file a command; each adds its arguments to the parser and runs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any


def add_settings(parser: argparse.ArgumentParser) -> None:
    """The ``key=value`` words every command takes."""
    parser.add_argument("settings", nargs="*", metavar="key=value", help="settings to change")


def add_format(parser: argparse.ArgumentParser) -> None:
    """The option ``--format`` of commands that print tables."""
    parser.add_argument(
        "--format",
        default="text",
        choices=("text", "markdown", "latex", "json"),
        help="how tables are printed",
    )


def plain_words(words: Sequence[str]) -> list[str]:
    """Arguments of a script, with settings such as ``--seed=1`` as ``seed=1``."""
    return [
        word.lstrip("-") if "=" in word and not word.startswith("--format") else word
        for word in words
    ]


Subparsers = Any  # argparse gives the return type of add_subparsers no public name
