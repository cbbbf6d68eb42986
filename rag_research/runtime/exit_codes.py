"""How a command ends: what the user can mend is told in words, not as a traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from rag_research.errors import RagResearchError


def exit_code(work: Callable[[], int], stopped: str = "stopped") -> int:
    """Do a command's work.

    Args:
        work: what it does; gives the code of a work that was done.
        stopped: what is said after an interrupt.

    Returns:
        That code; 2 after an error that is explained on standard error, 130 after an interrupt,
        0 where the reader of the output went away.
    """
    try:
        code = work()
        sys.stdout.flush()
        return code
    except RagResearchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a full disk, no permission, a file in place of a folder
        where = f": {error.filename}" if error.filename else ""
        print(f"error: {error.strerror or error}{where}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(stopped, file=sys.stderr)
        return 130


def run_script(
    description: str | None, run: Callable[[list[str]], int], arguments: Sequence[str]
) -> int:
    """A script's work on its settings, by :func:`exit_code`, or its description for ``--help``.

    Args:
        description: the script's docstring.
        run: takes ``key=value`` words.
        arguments: such words, each with or without leading dashes.
    """
    if {"-h", "--help"} & set(arguments):
        print(description)
        return 0
    return exit_code(lambda: run([argument.lstrip("-") for argument in arguments]))
