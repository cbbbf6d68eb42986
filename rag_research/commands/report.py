"""``rag-research report``: the same as ``python evaluate/report.py``."""

from __future__ import annotations

import argparse
from pathlib import Path

from rag_research.commands import Subparsers


def add_to(commands: Subparsers) -> None:
    """Add this command to the parser."""
    parser = commands.add_parser(
        "report",
        help="write finished runs into one HTML page with a trace viewer",
        description="Write one HTML file about finished runs on the same questions: tables with "
        "intervals and published figures, costs, rounds, and the trace of every question. "
        "Folders that an ablation, a sweep or evaluate/retrieval.py wrote add their plots. The "
        "file needs no network and no other file.",
    )
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN", help="folder of a run, or of run folders"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("report.html"), help="file to write (report.html)"
    )
    parser.add_argument("--title", help="heading of the page (systems and data set)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the page."""
    from rag_research.evaluation.report.command import write_report

    path = write_report(arguments.runs, arguments.out, arguments.title)
    print(f"{path}, {path.stat().st_size / 1e6:.1f} MB")
    return 0
