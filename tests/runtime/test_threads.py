"""NumPy on one thread, and back."""

from collections.abc import Iterator

import numpy as np  # noqa: F401  # loads what is counted
import pytest
from threadpoolctl import ThreadpoolController

from rag_research.runtime.threads import one_blas_thread


def threads() -> list[int]:
    return [p["num_threads"] for p in ThreadpoolController().info() if p["user_api"] == "blas"]


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        if 2 not in threads():
            pytest.skip("this NumPy cannot multiply on two threads")
        yield


def test_one_thread_inside_and_as_many_as_before_outside() -> None:
    before = threads()
    with one_blas_thread():
        with one_blas_thread():
            assert set(threads()) == {1}
        assert set(threads()) == {1}
    assert threads() == before


def test_a_decorated_function_brings_the_threads_back_when_it_raises() -> None:
    before = threads()

    @one_blas_thread()
    def fails() -> None:
        assert set(threads()) == {1}
        raise ValueError

    for _ in range(2):
        with pytest.raises(ValueError):
            fails()
        assert threads() == before
