"""The reply cache: what its key covers, what it refuses to keep, and who may share it."""

from __future__ import annotations

import asyncio
import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rag_research.errors import ArtifactError, BudgetExceededError, LLMError, ParseError
from rag_research.llm.base import Completion, Message, Request
from rag_research.llm.cache import NOT_IN_KEY, CachedLLM, cache_key
from rag_research.llm.scripted import Scripted

BASE = Request((Message("user", "q"),))
IDENTITY = {"backend": "b", "model": "m"}
# One changed value for every field of a request. A new field without a line here fails
# test_every_field_is_declared.
CHANGED: dict[str, Any] = {
    "messages": (Message("user", "r"),),
    "max_tokens": 1,
    "temperature": 0.5,
    "seed": 1,
    "stop": ("\n",),
    "schema": {"type": "array"},
    "prompt": "t/p@2",
    "purpose": "other",
    "accept": str.strip,
}


def ask(text: str, **fields: Any) -> Request:
    return Request((Message("user", text),), **fields)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "cache.sqlite"


def test_every_field_is_declared() -> None:
    assert set(CHANGED) == {field.name for field in dataclasses.fields(Request)}


@pytest.mark.parametrize("field", [f.name for f in dataclasses.fields(Request)])
def test_the_key_covers_every_field_that_can_change_a_reply(field: str) -> None:
    changed = dataclasses.replace(BASE, **{field: CHANGED[field]})
    same = cache_key(changed, IDENTITY) == cache_key(BASE, IDENTITY)
    assert same == (field in NOT_IN_KEY)
    assert {"purpose", "accept"} == NOT_IN_KEY


def test_the_key_covers_roles_order_and_backend() -> None:
    keys = {
        cache_key(Request(messages), identity)
        for identity in (IDENTITY, {**IDENTITY, "model": "n"}, {"backend": "b"})
        for messages in (
            (Message("user", "q"),),
            (Message("system", "q"),),
            (Message("user", "q"), Message("assistant", "a")),
            (Message("assistant", "a"), Message("user", "q")),
        )
    }
    assert len(keys) == 12
    reordered = dict(reversed(IDENTITY.items()))
    assert cache_key(BASE, reordered) == cache_key(BASE, IDENTITY)


async def test_a_second_request_is_answered_from_the_file(path: Path) -> None:
    model = Scripted.of(["first"])
    cache = CachedLLM(model, path)
    fresh = await cache.complete(ask("q"))
    again = await cache.complete(ask("q", purpose="elsewhere"))
    assert not fresh.cached
    assert again == dataclasses.replace(fresh, cached=True, seconds=again.seconds)
    assert (cache.hits, cache.misses, len(cache), len(model.requests)) == (1, 1, 1, 1)
    cache.close()
    reopened = CachedLLM(Scripted.of(["first"]), path)
    assert (await reopened.complete(ask("q"))).text == "first"
    assert reopened.misses == 0
    other_model = CachedLLM(Scripted.of(["other"]), path)
    assert (await other_model.complete(ask("q"))).text == "other"


async def test_failures_are_not_kept(path: Path) -> None:
    replies = iter([LLMError("down"), "up"])

    def reply(request: Request) -> str:
        value = next(replies)
        if isinstance(value, LLMError):
            raise value
        return value

    cache = CachedLLM(Scripted.of(reply), path)
    with pytest.raises(LLMError, match="down"):
        await cache.complete(ask("q"))
    assert len(cache) == 0
    assert (await cache.complete(ask("q"))).text == "up"


async def test_refused_replies_are_not_kept(path: Path) -> None:
    def accept(text: str) -> None:
        if text == "bad":
            raise ParseError("bad")

    cache = CachedLLM(Scripted.of(["bad", "good"]), path)
    texts = [(await cache.complete(ask("q", accept=accept))).text for _ in range(3)]
    assert texts == ["bad", "good", "good"]
    assert (cache.hits, cache.misses) == (1, 2)


async def test_odd_texts_survive(path: Path) -> None:
    for text in ("", "\x00", "日本語 🙂", "half \ud83d", "quote'\"\n"):
        cache = CachedLLM(Scripted.of(lambda request, text=text: text), path)
        await cache.complete(ask(text, seed=3))
        assert (await cache.complete(ask(text, seed=3))).text == text


class Gate:
    """A model that answers when it is told to, or fails."""

    identity = {"backend": "gate"}  # noqa: RUF012

    def __init__(self, error: Exception | None = None) -> None:
        self.calls = 0
        self.open = asyncio.Event()
        self.error = error

    async def complete(self, request: Request) -> Completion:
        self.calls += 1
        await self.open.wait()
        if self.error:
            raise self.error
        return Completion(f"answer {self.calls}", 1, 1)


async def started(cache: CachedLLM, number: int) -> list[asyncio.Task[Completion]]:
    tasks = [asyncio.create_task(cache.complete(ask("q"))) for _ in range(number)]
    await asyncio.sleep(0.01)
    return tasks


async def test_equal_requests_at_once_run_the_model_once(path: Path) -> None:
    gate = Gate()
    cache = CachedLLM(gate, path)
    tasks = await started(cache, 5)
    gate.open.set()
    completions = await asyncio.gather(*tasks)
    assert gate.calls == 1
    assert [c.text for c in completions] == ["answer 1"] * 5
    assert [c.cached for c in completions] == [False, True, True, True, True]
    assert (cache.hits, cache.misses) == (4, 1)


@pytest.mark.parametrize("error", [LLMError("down"), BudgetExceededError("spent")])
async def test_equal_requests_share_a_failure(path: Path, error: Exception) -> None:
    gate = Gate(error)
    tasks = await started(CachedLLM(gate, path), 3)
    gate.open.set()
    assert await asyncio.gather(*tasks, return_exceptions=True) == [error] * 3
    assert gate.calls == 1


async def test_when_the_asking_task_is_cancelled_another_asks(path: Path) -> None:
    gate = Gate()
    tasks = await started(CachedLLM(gate, path), 4)
    tasks[0].cancel()  # the one that asks
    tasks[2].cancel()  # one that waits
    await asyncio.sleep(0.01)
    gate.open.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(results[0], asyncio.CancelledError)
    assert isinstance(results[2], asyncio.CancelledError)
    assert gate.calls == 2
    assert [r.text for r in results[1::2] if isinstance(r, Completion)] == ["answer 2"] * 2


def test_several_event_loops_in_one_process(path: Path) -> None:
    cache = CachedLLM(Scripted.of(["a", "b"]), path)

    async def both() -> list[str]:
        return [c.text for c in await asyncio.gather(*map(cache.complete, [ask("q"), ask("r")]))]

    assert asyncio.run(both()) == asyncio.run(both()) == ["a", "b"]
    assert cache.misses == 2


WRITER = """
import asyncio, sys
from pathlib import Path
from rag_research.llm.base import Message, Request
from rag_research.llm.cache import CachedLLM
from rag_research.llm.scripted import Scripted

def reply(request):
    return request.messages[0].content.upper()

async def main():
    cache = CachedLLM(Scripted.of(reply), Path(sys.argv[1]))
    requests = [Request((Message("user", f"q{i}"),)) for i in range(150)]
    completions = await asyncio.gather(*map(cache.complete, requests))
    assert [c.text for c in completions] == [f"Q{i}" for i in range(150)]
    print(cache.hits + cache.misses, len(cache))

asyncio.run(main())
"""


def test_processes_share_a_file(path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(path)]
    writers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = [writer.communicate()[0] for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    assert outputs == ["150 150\n"] * 3


def test_a_damaged_file_says_what_to_do(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"this is no database, only text that is long enough" * 40)
    with pytest.raises(ArtifactError, match=r"cache\.sqlite.*not a database.*move it away"):
        CachedLLM(Scripted.of([]), path)


async def test_a_file_damaged_later_says_what_to_do(path: Path) -> None:
    cache = CachedLLM(Scripted.of(lambda request: "x" * 2000), path)
    for i in range(50):
        await cache.complete(ask(f"q{i}"))
    cache.close()
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    damaged = CachedLLM(Scripted.of(lambda request: "x"), path)
    with pytest.raises(ArtifactError, match=r"malformed.*move it away"):
        await damaged.complete(ask("q1"))


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ArtifactError, match="cannot be used"):
        CachedLLM(Scripted.of([]), tmp_path / "file" / "cache.sqlite")


@pytest.mark.parametrize(
    "row", ['{"text": "old", "input_tokens": 1, "output_tokens": 1, "new": 3}', "{}", "[]", "{"]
)
async def test_a_row_of_another_version_is_a_miss_and_replaced(path: Path, row: str) -> None:
    model = Scripted.of(["old", "new"])
    first = CachedLLM(model, path)
    await first.complete(ask("q"))
    first._connection.execute("UPDATE completions SET completion = ?", (row,))
    first.close()
    cache = CachedLLM(model, path)
    texts = [(await cache.complete(ask("q"))).text for _ in range(2)]
    assert texts == ["new", "new"]
    assert (cache.hits, cache.misses, len(cache)) == (1, 1, 1)
