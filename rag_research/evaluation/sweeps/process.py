"""One trial as a process of its own: its command, its log, its end."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rag_research.errors import ConfigError
from rag_research.evaluation.sweeps.sweep_file import Sweep
from rag_research.runtime.figures import OUT

LOG = "log.txt"
_VARIABLE = re.compile(r"\$\{envvar:([A-Z0-9_]*)\}")
_LAST_LINES = 8
_PATIENCE = 10.0  # seconds between asking a process to end and ending it
_PR_SET_PDEATHSIG = 1


def command_words(sweep: Sweep, parameters: Mapping[str, Any], folder: Path) -> list[str]:
    """The command of one trial, with wandb's macros filled in as ``wandb agent`` does.

    Args:
        sweep: a sweep file.
        parameters: the value of each.
        folder: of the trial; ``${args_json_file}`` is written there.
    """
    plain = [f"{name}={value}" for name, value in parameters.items()]
    file = folder / "parameters.json"
    macros: dict[str, list[str]] = {
        "env": ["/usr/bin/env"] if os.name == "posix" else [],
        "interpreter": [sys.executable],
        "program": [str(sweep.program)],
        "args": [f"--{word}" for word in plain],
        "args_no_hyphens": plain,
        "args_no_equals": [part for k, v in parameters.items() for part in (f"--{k}", str(v))],
        "args_no_boolean_flags": [word for k, v in parameters.items() for word in _switch(k, v)],
        "args_json": [json.dumps(dict(parameters))],
        "args_json_file": [str(file)],
        "args_append_hydra": [f"+{word}" for word in plain],
        "args_override_hydra": [f"++{word}" for word in plain],
    }
    words: list[str] = []
    for word in sweep.command:
        named = re.fullmatch(r"\$\{(\w+)\}", word)
        if named is None:
            words.append(_VARIABLE.sub(lambda m: os.environ.get(m.group(1), m.group(1)), word))
        elif named.group(1) in macros:
            words += macros[named.group(1)]
        else:
            raise ConfigError(
                f"command: there is no macro {word}. Known: {', '.join(macros)}, envvar:NAME."
            )
    return words


def _switch(name: str, value: Any) -> list[str]:
    """``--name`` for true, nothing for false, ``--name=value`` for all else."""
    if isinstance(value, bool):
        return [f"--{name}"] if value else []
    return [f"--{name}={value}"]


class TrialProcess:
    """A trial that runs.

    Its output goes to ``log.txt`` in its folder. It and whatever it starts form a group, so that
    Ctrl-C reaches the sweep alone and the sweep ends all of it; on Linux it also dies with the
    sweep.

    Args:
        sweep: a sweep file.
        parameters: the value of each.
        folder: of the trial, made here.
    """

    def __init__(self, sweep: Sweep, parameters: Mapping[str, Any], folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "parameters.json").write_text(
            json.dumps(dict(parameters), indent=2) + "\n", encoding="utf-8"
        )
        self.folder = folder
        self.started = time.monotonic()
        environment = {
            "WANDB_RUN_GROUP": sweep.name,
            "WANDB_MODE": "offline",
            **os.environ,
            OUT: str(folder.resolve()),
        }
        words = command_words(sweep, parameters, folder)
        try:
            with (folder / LOG).open("w", encoding="utf-8") as log:
                log.write(f"{' '.join(words)}\n")
                log.flush()
                self._process = subprocess.Popen(
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=environment,
                    start_new_session=True,
                    preexec_fn=_die_with_parent(),
                )
        except OSError as error:
            raise ConfigError(f"command: {words[0]} cannot be run: {error}") from error

    @property
    def seconds(self) -> float:
        """Since it was started."""
        return time.monotonic() - self.started

    def exit_code(self) -> int | None:
        """``None`` while it runs."""
        return self._process.poll()

    def ask_to_end(self) -> None:
        """Send the group a SIGTERM."""
        self._send(signal.SIGTERM)

    def end(self) -> None:
        """Ask it to end, and end it if it does not."""
        self.ask_to_end()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_PATIENCE)
        self._send(signal.SIGKILL)  # whatever of the group is left
        self._process.wait()

    def last_lines(self) -> str:
        """The end of its log."""
        text = (self.folder / LOG).read_text(encoding="utf-8", errors="replace")
        return "\n".join(text.splitlines()[1:][-_LAST_LINES:])

    def _send(self, number: signal.Signals) -> None:
        try:
            os.killpg(self._process.pid, number)
        except (ProcessLookupError, PermissionError):  # the latter on macOS, for ended ones
            return


def _die_with_parent() -> Callable[[], None] | None:
    """What a child on Linux does first, so that it does not outlive a killed sweep."""
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None)  # loaded here: a child should not load anything
    parent = os.getpid()

    def leash() -> None:
        library.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # killed in between
            os._exit(1)

    return leash
