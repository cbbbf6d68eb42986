"""The trials of a sweep in an SQLite file: what is finished stays, whatever happens next."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rag_research.errors import ConfigError

State = Literal["running", "finished", "stopped", "failed"]
FILE = "sweep.sqlite"
_TABLES = """
create table if not exists sweep (fingerprint text not null);
create table if not exists trials (
    number integer primary key, state text not null, parameters text not null,
    places text not null, history text not null, value real, seconds real not null,
    error text not null, attempt integer not null
);
"""


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of the program.

    Args:
        number: from 0, in the order in which trials began.
        parameters: the value of each, constants included.
        places: where the values lie in the search space, for a search that learns from them.
        state: ``stopped`` is by early stop.
        history: the metric as reported so far, an entry an epoch.
        value: the metric at the end; of a stopped trial, the last report.
        seconds: wall-clock time.
        error: the last lines of a failed trial.
        attempt: how often it was begun; more than once after an interruption.
    """

    number: int
    parameters: Mapping[str, Any]
    places: Mapping[str, float] | None = None
    state: State = "running"
    history: Sequence[float] = ()
    value: float | None = None
    seconds: float = 0.0
    error: str = ""
    attempt: int = 1


class Trials:
    """All trials of one sweep.

    Args:
        folder: of the sweep.
        fingerprint: of the sweep; a folder belongs to one.

    Raises:
        ConfigError: the folder holds the trials of another sweep.
    """

    def __init__(self, folder: Path, fingerprint: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / FILE
        with closing(self._connect()) as database, database:
            database.executescript(_TABLES)
            found = database.execute("select fingerprint from sweep").fetchone()
            if found is None:
                database.execute("insert into sweep values (?)", (fingerprint,))
            elif found[0] != fingerprint:
                raise ConfigError(
                    f"{folder}: these are the trials of another sweep: its file, its search_seed "
                    "or a setting given to all trials was different. Choose another out=FOLDER, "
                    "or give the settings it was begun with."
                )

    def save(self, trial: Trial) -> None:
        """Insert or replace one trial."""
        row = (
            trial.number,
            trial.state,
            json.dumps(dict(trial.parameters)),
            json.dumps(trial.places),
            json.dumps(list(trial.history)),
            trial.value,
            trial.seconds,
            trial.error,
            trial.attempt,
        )
        with closing(self._connect()) as database, database:
            database.execute("insert or replace into trials values (?,?,?,?,?,?,?,?,?)", row)

    def all(self) -> list[Trial]:
        """Every trial, by number."""
        with closing(self._connect()) as database:
            rows = database.execute(
                "select number, parameters, places, state, history, value, seconds, error, attempt "
                "from trials order by number"
            ).fetchall()
        return [_trial(row) for row in rows]

    def unfinished(self, failed: bool = False) -> list[Trial]:
        """Trials that were running when the sweep ended, ready to be begun again.

        Args:
            failed: those that failed, too.
        """
        states = ("running", "failed") if failed else ("running",)
        return [
            Trial(t.number, t.parameters, t.places, attempt=t.attempt + 1)
            for t in self.all()
            if t.state in states
        ]

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=60)


def _trial(row: Sequence[Any]) -> Trial:
    number, parameters, places, state, history, *rest = row
    return Trial(
        number, json.loads(parameters), json.loads(places), state, json.loads(history), *rest
    )


def best_trial(trials: Sequence[Trial], maximize: bool) -> Trial | None:
    """The finished trial nearest to the goal; the first of equals."""
    finished = [t for t in trials if t.state == "finished" and t.value is not None]
    sign = -1.0 if maximize else 1.0
    return min(finished, key=lambda t: sign * float(t.value or 0.0), default=None)
