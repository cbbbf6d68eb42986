"""The command ``rag-research``; each of its commands is one file in ``commands``.

Exit codes: 0 done, 1 done with failures that are listed, 2 an error that is explained.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence

from rag_research import __version__
from rag_research.commands import (
    ablate,
    ask,
    compare,
    doctor,
    evaluate,
    experiment,
    export,
    index,
    judge,
    models,
    report,
    reproduce,
    sweep,
)
from rag_research.runtime.exit_codes import exit_code

_COMMANDS = (
    index,
    ask,
    export,
    evaluate,
    compare,
    report,
    reproduce,
    ablate,
    experiment,
    sweep,
    judge,
    models,
    doctor,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: the words after ``rag-research``; ``None`` takes them from the process.

    Returns:
        The exit code.
    """
    # Idle OpenMP threads that spin starve the working ones; read when torch is imported.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    parser = _parser()
    chosen, rest = parser.parse_known_args(arguments)
    # argparse ends a list of settings at the first option; the settings behind it are here.
    stray = [word for word in rest if word.startswith("-") or "=" not in word]
    if stray or (rest and not hasattr(chosen, "settings")):
        parser.error(f"unrecognised: {' '.join(stray or rest)}")
    if rest:
        chosen.settings = [*chosen.settings, *rest]
    stopped = "stopped; the same command goes on with what is left"
    return exit_code(lambda: int(chosen.run(chosen)), stopped)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rag-research",
        description="Triplet- and graph-driven retrieval-augmented generation.",
        epilog="Settings are key=value, for example: system=dense_rag system.k=3 device=cpu",
    )
    parser.add_argument("--version", action="version", version=f"rag-research {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in _COMMANDS:
        command.add_to(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
