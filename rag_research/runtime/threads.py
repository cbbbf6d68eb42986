"""NumPy's products on one thread, where they are small and many."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np  # noqa: F401  # loads its library, so that the controller finds it
from threadpoolctl import ThreadpoolController


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Within it NumPy multiplies on one thread; ``with one_blas_thread():``, or a decorator.

    A product of microseconds wakes the other threads of OpenBLAS, which then spin for
    milliseconds in wait of the next one. That takes as much CPU time as the work itself, and
    slows what runs beside it. The setting belongs to the process: threadpoolctl lets one thread
    at a time change it, and leaves it alone when others ask.
    """
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
