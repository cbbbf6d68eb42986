"""Coroutines run to their end from code that is not one."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """``asyncio.run``; in a thread of its own where a loop runs already, as in a notebook.

    Args:
        work: runs to its end before this returns; an interrupt cancels it.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    return _in_a_thread(work)


def _in_a_thread(work: Coroutine[Any, Any, T]) -> T:
    begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[T]]] = Future()

    async def main() -> T:
        task = asyncio.ensure_future(work)
        begun.set_result((asyncio.get_running_loop(), task))
        return await task

    context = contextvars.copy_context()
    with ThreadPoolExecutor(1) as thread:
        try:
            return thread.submit(lambda: context.run(asyncio.run, main())).result()
        except KeyboardInterrupt:  # it reaches this thread alone, and leaving waits for the other
            # No time where the work never began; an error where it, and its loop, has just ended.
            with suppress(FutureTimeout, RuntimeError):
                loop, task = begun.result(timeout=1)
                loop.call_soon_threadsafe(task.cancel)
            raise
