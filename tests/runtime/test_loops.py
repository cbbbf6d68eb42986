"""Coroutines are run from plain code, inside a running loop too."""

import asyncio
import contextvars
import json
import signal
import threading
from pathlib import Path

import pytest

from rag_research.corpus.corpus import Corpus
from rag_research.runtime.loops import run_async
from rag_research.types import Passage

NAME: contextvars.ContextVar[str] = contextvars.ContextVar("name", default="nobody")


async def greet() -> str:
    await asyncio.sleep(0)
    return f"hello {NAME.get()}"


async def fail() -> None:
    raise LookupError("gone")


async def as_a_notebook_cell() -> str:
    NAME.set("Ines")
    with pytest.raises(LookupError, match="gone"):
        run_async(fail())
    return run_async(greet())


def test_inside_and_outside_a_running_loop() -> None:
    assert run_async(greet()) == "hello nobody"
    assert asyncio.run(as_a_notebook_cell()) == "hello Ines"
    with pytest.raises(LookupError, match="gone"):
        run_async(fail())


def test_an_interrupt_of_a_cell_ends_the_work() -> None:
    begun, cancelled = threading.Event(), threading.Event()

    async def long() -> None:
        begun.set()
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    def interrupt() -> None:
        begun.wait()
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    async def cell() -> None:
        # asyncio.run has a handler of its own, a notebook runs its cells with this one.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            run_async(long())

    before = signal.getsignal(signal.SIGINT)
    try:
        asyncio.run(cell())
    finally:
        signal.signal(signal.SIGINT, before)
    assert cancelled.wait(5)


def test_an_index_is_built_and_asked_inside_a_running_loop(tmp_path: Path) -> None:
    pytest.importorskip("faiss")
    from rag_research.systems.saved import build_index

    replies = [json.dumps(["Mia Orr", "Keld"]), json.dumps([["Mia Orr", "born in", "Keld"]])]
    settings = ["system=t2rag", "encoder=hashing", "llm=scripted", f"llm.replies={replies}"]
    corpus = Corpus([Passage("1", "Mia Orr", "Mia Orr was born in Keld.")])

    async def cell() -> str:
        build_index(corpus, tmp_path / "triplets", settings)  # asks the model
        given = ["system=bm25_rag", "encoder=hashing", "llm=scripted", "llm.replies=[Keld]"]
        answer, _ = build_index(corpus, tmp_path / "passages", given).ask("Where was Mia Orr born?")
        return answer.text

    assert asyncio.run(cell()) == "Keld"
