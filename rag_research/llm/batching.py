"""Concurrent awaits become batches of a synchronous engine that runs in a worker thread.

The batch is *continuous*: the engine asks for more work whenever it has room, and hands back
each result the moment it has it, so a short reply never waits for a long one and a late
request does not wait for the whole batch to end.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from rag_research.errors import ConfigError

T = TypeVar("T")
R = TypeVar("R")

_SECONDS_TO_REST = 5.0


@dataclass(eq=False, slots=True)
class Ticket(Generic[T, R]):
    """One item on its way through the engine.

    Args:
        item: what was submitted.
        cost: its share of the batch's ``max_cost``.
    """

    item: T
    cost: int
    _future: asyncio.Future[R]
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)

    @property
    def abandoned(self) -> bool:
        """Nobody waits for the result any more: cancelled, or its event loop has ended."""
        return self._future.cancelled() or self._loop.is_closed()

    def _settle(self, act: Callable[[asyncio.Future[R]], None]) -> None:
        def settle() -> None:
            if not self._future.done():
                act(self._future)

        try:
            self._loop.call_soon_threadsafe(settle)
        except RuntimeError:  # the loop closed between the check and here: no one is waiting
            if not self._loop.is_closed():
                raise


class Batcher(Generic[T, R]):
    """Collects items from any event loop and runs an engine over them.

    Args:
        run: the engine. It calls :meth:`take` for work and :meth:`finish` for each result, and
            returns when it has nothing running and :meth:`take` gives nothing. An exception it
            raises reaches every waiter whose item it had taken; items still queued go to a new
            call.
        max_size: most items running at once, at least 1.
        max_cost: most cost running at once; a single item above it runs alone.
        cost: cost of an item, e.g. its prompt tokens.
        linger: seconds to wait for company before an idle engine starts.
    """

    def __init__(
        self,
        run: Callable[[Batcher[T, R]], None],
        *,
        max_size: int,
        max_cost: int,
        cost: Callable[[T], int],
        linger: float = 0.005,
    ) -> None:
        if max_size < 1 or max_cost < 1:
            raise ConfigError(
                f"A batch needs room: got max_size {max_size} and max_cost {max_cost}, expected "
                "at least 1 each."
            )
        self._run = run
        self._max_size, self._max_cost = max_size, max_cost
        self._cost, self._linger = cost, linger
        self._lock = threading.Lock()
        self._waiting: list[Ticket[T, R]] = []
        self._running: list[Ticket[T, R]] = []
        self._working = False
        self._thread: threading.Thread | None = None
        atexit.register(_wait_for_engine, weakref.ref(self))

    async def submit(self, item: T) -> R:
        """Queue one item and wait for its result.

        Raises:
            Exception: whatever the engine raised while it had this item.
        """
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        ticket = Ticket(item, self._cost(item), future)
        with self._lock:
            self._waiting.append(ticket)
            start = not self._working
            self._working = True
        if start:
            # A daemon: an interrupted program should not wait for a reply no one will read.
            self._thread = threading.Thread(target=self._work, name="llm-batch", daemon=True)
            self._thread.start()
        return await future

    def take(self) -> list[Ticket[T, R]]:
        """Items that fit beside those running: the oldest, then the nearest to it in cost.

        Taking similar lengths together keeps padding small; taking the oldest first means no
        item waits for ever.
        """
        with self._lock:
            self._running = [t for t in self._running if not t.abandoned]
            self._waiting = [t for t in self._waiting if not t.abandoned]
            if not self._waiting:
                return []
            oldest = self._waiting[0]
            near = sorted(self._waiting, key=lambda t: (t is not oldest, abs(t.cost - oldest.cost)))
            spent = sum(t.cost for t in self._running)
            taken: list[Ticket[T, R]] = []
            for ticket in near:
                size = len(self._running) + len(taken)
                fits = size < self._max_size and spent + ticket.cost <= self._max_cost
                if not fits and size:
                    break
                taken.append(ticket)
                spent += ticket.cost
            self._waiting = [t for t in self._waiting if t not in taken]
            self._running += taken
            return taken

    def finish(self, ticket: Ticket[T, R], result: R) -> None:
        """Hand one result to its waiter."""
        with self._lock:
            if ticket in self._running:
                self._running.remove(ticket)
        ticket._settle(lambda future: future.set_result(result))

    def _work(self) -> None:
        time.sleep(self._linger)
        while True:
            try:
                self._run(self)
            except Exception as error:
                self._fail(error)
            with self._lock:
                if not self._waiting:
                    self._working = False
                    return

    def _fail(self, error: Exception) -> None:
        with self._lock:
            failed, self._running = self._running, []
        for ticket in failed:
            ticket._settle(lambda future: future.set_exception(error))


def _wait_for_engine(batcher: weakref.ref[Batcher[Any, Any]]) -> None:
    """Let the engine come to rest: a thread that is inside torch at exit aborts the process."""
    alive = batcher()
    if alive is not None and alive._thread is not None:
        alive._thread.join(_SECONDS_TO_REST)
