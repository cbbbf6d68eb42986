"""One file a command; each adds its arguments to the parser and runs."""

from __future__ import annotations

import argparse
from typing import Any


def add_settings(parser: argparse.ArgumentParser) -> None:
    """The ``key=value`` words every command takes."""
    parser.add_argument("settings", nargs="*", metavar="key=value", help="settings to change")


Subparsers = Any  # argparse gives the return type of add_subparsers no public name
