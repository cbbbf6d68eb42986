"""From the words of a command line to a sweep that has run, or is registered."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from rag_research.config.build import build
from rag_research.config.compose import config_folder
from rag_research.errors import ConfigError
from rag_research.evaluation.sweeps.local import LocalConfig, run_sweep
from rag_research.evaluation.sweeps.outcome import outcome_text
from rag_research.evaluation.sweeps.parameters import Parameter
from rag_research.evaluation.sweeps.server import register
from rag_research.evaluation.sweeps.sweep_file import Sweep, find_sweep, read_sweep
from rag_research.evaluation.yaml_values import yaml_value

_OWN = tuple(field.name for field in fields(LocalConfig))


def sweep_command(file: str, words: Sequence[str], online: bool = False) -> int:
    """Run a sweep file here and print what it found, or register it on a server.

    Args:
        file: path of a sweep file, or the name of one in ``configs/sweep``.
        words: ``key=value``; settings of :class:`LocalConfig` and ``register=online`` steer the
            sweep, all others are given to every trial.
        online: register instead of run.

    Returns:
        0, or 1 if a trial failed.

    Raises:
        RagResearchError: the file or the settings cannot be used.
    """
    given = dict(_split(word) for word in words)
    where = given.pop("register", "online" if online else "no")
    if where not in ("online", "no"):
        raise ConfigError(f"register: got {where!r}, expected online or no.")
    own = {key: yaml_value(key, given.pop(key)) for key in _OWN if key in given}
    config = build(LocalConfig, own)
    sweep = with_fixed(read_sweep(find_sweep(file)), given)
    if where == "online":
        print(f"Run trials with: {register(sweep)}")
        return 0
    with _ended_by_sigterm():
        outcome = run_sweep(with_program(sweep), config, lambda line: print(line, flush=True))
    print(f"\n{outcome_text(outcome)}")
    return int(outcome.count("failed") > 0)


def with_fixed(sweep: Sweep, settings: Mapping[str, str]) -> Sweep:
    """The sweep with some settings the same in every trial.

    Args:
        sweep: a sweep file.
        settings: by name; each takes the place of a parameter, or of a word of the command.
    """
    if not settings:
        return sweep
    fixed = [Parameter(name, "constant", {"value": value}) for name, value in settings.items()]
    command = [
        word for word in sweep.command if word.lstrip("-+").partition("=")[0] not in settings
    ]
    kept = [parameter for parameter in sweep.parameters if parameter.name not in settings]
    entries = {p.name: {"distribution": p.distribution, **p.spec} for p in (*kept, *fixed)}
    content = {**sweep.content, "parameters": entries, "command": command}
    return replace(sweep, parameters=(*kept, *fixed), command=command, content=content)


def with_program(sweep: Sweep) -> Sweep:
    """The sweep with a program that is found from the working folder.

    Raises:
        ConfigError: it lies neither there nor beside the configs folder.
    """
    if sweep.program is None:
        return sweep
    for folder in (Path(), config_folder().parent):
        if (folder / sweep.program).is_file():
            return replace(sweep, program=str(folder / sweep.program))
    raise ConfigError(
        f"program: there is no {sweep.program} in {Path.cwd()}. Run the sweep from the folder "
        "that the path in the file starts from, such as the top of the checkout."
    )


def _split(word: str) -> tuple[str, Any]:
    key, equals, value = word.lstrip("-").partition("=")
    if not equals:
        raise ConfigError(f"{word}: expected key=value.")
    return key, value


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """A SIGTERM ends the sweep as Ctrl-C does: trials ended, what is finished kept."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
