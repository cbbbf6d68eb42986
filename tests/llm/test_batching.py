"""The batcher: right results to right waiters, company, limits, failures, several loops."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_research.errors import ConfigError
from rag_research.llm.batching import Batcher

Numbers = Batcher[int, int]


class Doubler:
    """An engine that doubles numbers one batch at a time and keeps what it saw."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []

    def __call__(self, work: Numbers) -> None:
        while taken := work.take():
            self.batches.append([t.item for t in taken])
            for ticket in taken:
                work.finish(ticket, 2 * ticket.item)


def batcher(engine: Doubler, size: int = 4, cost: int = 1000, linger: float = 0.02) -> Numbers:
    return Batcher(engine, max_size=size, max_cost=cost, cost=lambda n: n, linger=linger)


async def ask(work: Numbers, items: list[int]) -> list[int]:
    return list(await asyncio.gather(*(work.submit(item) for item in items)))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=20),
    st.integers(1, 6),
    st.integers(1, 80),
)
def test_everyone_gets_their_own_result_within_the_limits(
    items: list[int], size: int, cost: int
) -> None:
    engine = Doubler()
    got = asyncio.run(ask(batcher(engine, size, cost, linger=0.0), items))
    assert got == [2 * item for item in items]
    assert sorted(i for batch in engine.batches for i in batch) == sorted(items)
    for batch in engine.batches:
        assert len(batch) <= size
        assert sum(batch) <= cost or len(batch) == 1


async def test_concurrent_items_share_a_batch() -> None:
    engine = Doubler()
    await ask(batcher(engine), [1, 2, 3, 4])
    assert engine.batches == [[1, 2, 3, 4]]


async def test_the_oldest_goes_first_with_its_nearest_in_cost() -> None:
    engine = Doubler()
    await ask(batcher(engine, size=2), [100, 5, 90, 6])
    assert engine.batches == [[100, 90], [5, 6]]


def test_one_batcher_serves_several_event_loops() -> None:
    work = batcher(Doubler())
    assert asyncio.run(ask(work, [1, 2])) == [2, 4]
    assert asyncio.run(ask(work, [3])) == [6]


def test_loops_of_two_threads_at_once() -> None:
    work = batcher(Doubler())
    got: dict[int, list[int]] = {}

    def client(start: int) -> None:
        got[start] = asyncio.run(ask(work, [start, start + 1]))

    threads = [threading.Thread(target=client, args=(n,)) for n in (10, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == {10: [20, 22], 20: [40, 42]}


async def test_an_exception_reaches_all_of_its_batch_and_no_one_else() -> None:
    def engine(work: Numbers) -> None:
        while taken := work.take():
            if any(t.item < 0 for t in taken):
                raise ValueError("negative")
            for ticket in taken:
                work.finish(ticket, 2 * ticket.item)

    work: Numbers = Batcher(engine, max_size=2, max_cost=99, cost=abs, linger=0.02)
    got = await asyncio.gather(*(work.submit(n) for n in (-1, 1, 30, 31)), return_exceptions=True)
    assert [str(g) for g in got[:2]] == ["negative", "negative"]
    assert got[2:] == [60, 62]
    assert await work.submit(5) == 10


async def test_late_work_joins_and_early_results_leave() -> None:
    late = threading.Event()
    order: list[str] = []

    def engine(work: Numbers) -> None:
        (long,) = work.take()
        assert late.wait(5)
        (short,) = work.take()
        order.append("joined")
        work.finish(short, 2)
        left.wait(5)
        work.finish(long, 1)

    left = threading.Event()
    work: Numbers = Batcher(engine, max_size=2, max_cost=9, cost=lambda _: 1, linger=0.0)
    first = asyncio.create_task(work.submit(100))
    await asyncio.sleep(0.05)
    second = asyncio.create_task(work.submit(1))
    await asyncio.sleep(0)
    late.set()
    assert await second == 2
    assert not first.done()
    left.set()
    assert await first == 1
    assert order == ["joined"]


async def test_the_event_loop_stays_free_while_the_engine_works() -> None:
    release = threading.Event()

    def engine(work: Numbers) -> None:
        for ticket in work.take():
            assert release.wait(5)
            work.finish(ticket, 7)

    work: Numbers = Batcher(engine, max_size=1, max_cost=1, cost=lambda _: 1, linger=0.0)
    task = asyncio.create_task(work.submit(0))
    await asyncio.sleep(0.02)  # would deadlock if the engine ran on this loop
    release.set()
    assert await task == 7


async def test_a_cancelled_waiter_is_never_taken() -> None:
    engine = Doubler()
    work = batcher(engine, linger=0.05)
    gone = asyncio.create_task(work.submit(1))
    stays = asyncio.create_task(work.submit(2))
    await asyncio.sleep(0)
    gone.cancel()
    assert await stays == 4
    assert engine.batches == [[2]]


@pytest.mark.parametrize(("size", "cost"), [(0, 1), (1, 0)])
def test_a_batch_without_room_is_refused(size: int, cost: int) -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        batcher(Doubler(), size, cost)


def test_a_program_that_ends_right_after_its_last_reply_ends_cleanly() -> None:
    program = """
import asyncio, time
from rag_research.llm.batching import Batcher

def engine(work):
    while tickets := work.take():
        for ticket in tickets:
            work.finish(ticket, ticket.item)
    time.sleep(0.3)
    print("at rest", flush=True)

batcher = Batcher(engine, max_size=2, max_cost=9, cost=len)
print(asyncio.run(batcher.submit("reply")), flush=True)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split("\n")[:2] == ["reply", "at rest"]
