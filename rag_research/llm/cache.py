"""Replies kept in a sqlite file, keyed by everything that can change them."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from rag_research.config.fingerprint import canonical_json
from rag_research.errors import ArtifactError, ParseError
from rag_research.llm.base import LLM, Completion, Request
from rag_research.trace import plain

NOT_IN_KEY = frozenset({"purpose", "accept"})
_BUSY_SECONDS = 60.0
_TABLE = """
CREATE TABLE IF NOT EXISTS completions (
    key TEXT PRIMARY KEY, prompt TEXT, model TEXT, completion TEXT, written REAL
) WITHOUT ROWID
"""


def cache_key(request: Request, identity: Mapping[str, str]) -> str:
    """SHA-256 over the whole request but ``purpose`` and ``accept``, and over the backend.

    Args:
        request: a field added to :class:`Request` later counts by itself.
        identity: :attr:`LLM.identity` of what would answer.
    """
    asked = {
        field.name: plain(getattr(request, field.name))
        for field in dataclasses.fields(request)
        if field.name not in NOT_IN_KEY
    }
    text = canonical_json({"request": asked, "backend": dict(identity)})
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class CachedLLM:
    """Answers a request it has seen before from a file, and asks the model otherwise.

    Several processes may share the file. Two equal requests at the same time run the model
    once. Failures are not kept, nor are replies that ``request.accept`` refuses. A row that
    cannot be read, of another version of this package, counts as none.

    Args:
        llm: what answers when the file does not.
        path: sqlite file, created when missing.

    Raises:
        ArtifactError: the file cannot be opened or is not a cache.
    """

    def __init__(self, llm: LLM, path: Path | str) -> None:
        self.llm = llm
        self.path = Path(path)
        self.hits = 0
        self.misses = 0
        self._lock = threading.Lock()
        self._flights: dict[
            tuple[asyncio.AbstractEventLoop, str], asyncio.Future[Completion | Exception | None]
        ] = {}
        self._connection = self._open()

    @property
    def identity(self) -> Mapping[str, str]:
        """The identity of what answers."""
        return self.llm.identity

    async def complete(self, request: Request) -> Completion:
        """Answer from the file, from an equal request under way, or from the model.

        A reply that was not generated for this call has ``cached=True`` and the seconds of
        the look-up.
        """
        started = time.perf_counter()
        key = cache_key(request, self.identity)
        place = (asyncio.get_running_loop(), key)
        while True:
            known: Completion | Exception | None = self._load(key)
            if known is None and place in self._flights:
                # Shielded: a waiter that is cancelled must not cancel the shared future.
                known = await asyncio.shield(self._flights[place])
                if known is None:  # the call we waited for was cancelled; somebody must ask
                    continue
            if isinstance(known, Exception):
                raise known
            if known is None:
                return await self._ask(request, key, place)
            self.hits += 1
            return dataclasses.replace(known, cached=True, seconds=time.perf_counter() - started)

    async def _ask(
        self, request: Request, key: str, place: tuple[asyncio.AbstractEventLoop, str]
    ) -> Completion:
        self.misses += 1
        flight = self._flights[place] = place[0].create_future()
        outcome: Completion | Exception | None = None
        try:
            completion = await self.llm.complete(request)
            if _acceptable(request, completion):
                self._store(key, request, completion)
            outcome = completion
            return completion
        except Exception as error:
            outcome = error
            raise
        finally:
            del self._flights[place]
            if not flight.done():
                flight.set_result(outcome)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def __len__(self) -> int:
        """Replies in the file."""
        with self._guarded():
            return int(self._connection.execute("SELECT count(*) FROM completions").fetchone()[0])

    def _load(self, key: str) -> Completion | None:
        with self._guarded():
            row = self._connection.execute(
                "SELECT completion FROM completions WHERE key = ?", (key,)
            ).fetchone()
        try:
            return None if row is None else Completion(**json.loads(row[0]))
        except (TypeError, ValueError):  # another version wrote it
            with self._guarded():
                self._connection.execute("DELETE FROM completions WHERE key = ?", (key,))
            return None

    def _store(self, key: str, request: Request, completion: Completion) -> None:
        model = self.identity.get("model", self.identity.get("backend", ""))
        text = json.dumps(dataclasses.asdict(completion))  # ASCII: any text survives
        with self._guarded():
            self._connection.execute(
                "INSERT OR IGNORE INTO completions VALUES (?, ?, ?, ?, ?)",
                (key, request.prompt, model, text, time.time()),
            )

    def _open(self) -> sqlite3.Connection:
        with self._guarded():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Autocommit; tasks of several threads share the connection under our lock.
            connection = sqlite3.connect(
                self.path, _BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            # Two processes that switch a new file to WAL at once would see "locked".
            with FileLock(f"{self.path}.lock"):
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.execute(_TABLE)
            return connection

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            with self._lock:
                yield
        except (sqlite3.Error, OSError) as error:
            raise ArtifactError(
                f"The LLM cache {self.path} cannot be used: {error}. If the disk is full or "
                "not writable, mend that. If the file is damaged, move it away together with "
                f"{self.path.name}-wal and {self.path.name}-shm and run again: only repeated "
                "LLM calls are lost. run.cache=false goes without a cache."
            ) from error


def _acceptable(request: Request, completion: Completion) -> bool:
    if request.accept is None:
        return True
    try:
        request.accept(completion.text)
    except ParseError:
        return False
    return True
