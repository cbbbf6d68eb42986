"""The HTTP backend against a real server that fails on purpose."""

from __future__ import annotations

import asyncio
import math
import random
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from email.utils import formatdate
from typing import Any

import pytest

from rag_research.config import build, fingerprint
from rag_research.errors import ConfigError, LLMError
from rag_research.llm.base import LLM, Message, Request
from rag_research.llm.http import RefusedError, _retry_after
from rag_research.llm.openai_compatible import OpenAICompatible, OpenAICompatibleConfig

pytest.importorskip("httpx")

SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}}
FAULTS = ["status:429", "status:500", "status:503", "slow", "cut_json", "cut_body", "reset"]


def ask(question: str, **fields: Any) -> Request:
    return Request((Message("system", "You echo."), Message("user", question)), **fields)


def backend(server: Any, **fields: Any) -> OpenAICompatible:
    values = {"model": "m", "base_url": server.url, "timeout": 0.3, "backoff": 0.01, **fields}
    return OpenAICompatible(OpenAICompatibleConfig(**values))


async def test_sends_the_whole_request(chat_server: Any) -> None:
    llm = backend(chat_server, extra={"top_p": 0.5, "seed": None})
    request = ask("hello", max_tokens=7, temperature=0.3, seed=5, stop=("\n",))
    completion = await llm.complete(request)
    assert completion.text == "echo hello"
    assert (completion.input_tokens, completion.output_tokens) == (11, 3)
    assert not completion.tokens_estimated
    assert chat_server.bodies == [
        {
            "model": "m",
            "messages": [
                {"role": "system", "content": "You echo."},
                {"role": "user", "content": "hello"},
            ],
            "max_tokens": 7,
            "temperature": 0.3,
            "stop": ["\n"],
            "top_p": 0.5,
        }
    ]
    assert isinstance(llm, LLM)


@pytest.mark.parametrize("fault", FAULTS)
async def test_one_fault_costs_one_retry(chat_server: Any, fault: str) -> None:
    chat_server.plan = lambda question, n: fault if n == 0 else None
    llm = backend(chat_server)
    assert (await llm.complete(ask("q"))).text == "echo q"
    assert chat_server.seen["q"] == 2
    assert llm.client.retried == 1


async def test_many_questions_each_answered_once(chat_server: Any) -> None:
    random_ = random.Random(7)
    planned = {f"question {i}": [f for f in FAULTS if random_.random() < 0.25] for i in range(80)}
    chat_server.plan = lambda q, n: planned[q][n] if n < len(planned[q]) else None
    llm = backend(chat_server, retries=len(FAULTS), concurrency=12)
    completions = await asyncio.gather(*(llm.complete(ask(q)) for q in planned))
    assert [c.text for c in completions] == [f"echo {q}" for q in planned]
    assert chat_server.answered == dict.fromkeys(planned, 1)
    assert chat_server.seen == {q: len(faults) + 1 for q, faults in planned.items()}
    assert set(chat_server.faults) == {*FAULTS, "none"}
    # A busy machine may lose a connection besides, before the server has seen the question.
    assert llm.client.retried >= sum(map(len, planned.values()))


async def test_gives_up_with_words(chat_server: Any) -> None:
    chat_server.plan = lambda question, n: "status:500"
    with pytest.raises(LLMError, match=r"failed 3 times.*HTTP 500.*made up 500.*same command"):
        await backend(chat_server, retries=2).complete(ask("q"))
    assert chat_server.seen["q"] == 3


async def test_no_server() -> None:
    config = OpenAICompatibleConfig("m", base_url="http://127.0.0.1:9/v1", retries=1, backoff=0.01)
    with pytest.raises(LLMError, match=r"failed 2 times.*ConnectError.*server is up"):
        await OpenAICompatible(config).complete(ask("q"))


async def test_retry_after_is_honoured(chat_server: Any) -> None:
    chat_server.plan = lambda question, n: "status:429:1" if n == 0 else None
    await backend(chat_server).complete(ask("q"))
    first, second = chat_server.times
    assert second - first >= 1.0


async def test_a_busy_server_gets_more_time_after_each_timeout(chat_server: Any) -> None:
    """It answers after 0.8 s (``late``): tries of 0.25 and 0.5 s fail, the one of 1 s does not."""
    chat_server.plan = lambda question, n: "late"
    llm = backend(chat_server, timeout=0.25, retries=2)
    assert (await llm.complete(ask("q"))).text == "echo q"
    assert chat_server.seen["q"] == 3


def test_retry_after_forms() -> None:
    assert _retry_after({"retry-after": "2.5"}) == 2.5
    assert 50 < _retry_after({"retry-after": formatdate(time.time() + 60, usegmt=True)}) <= 60
    assert _retry_after({"retry-after": formatdate(time.time() - 60, usegmt=True)}) == 0
    assert _retry_after({"retry-after": "soon"}) == 0
    assert _retry_after({}) == 0


@pytest.mark.parametrize(
    ("status", "words"),
    [(401, "SOME_KEY.*not set"), (403, "may not use"), (404, "model name"), (400, "made up 400")],
)
async def test_refusals_are_final(
    chat_server: Any, status: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOME_KEY", raising=False)
    chat_server.plan = lambda question, n: f"status:{status}"
    with pytest.raises(RefusedError, match=words):
        await backend(chat_server, api_key_env="SOME_KEY").complete(ask("q"))
    assert chat_server.seen["q"] == 1


async def test_an_answer_of_another_form_is_retried(chat_server: Any) -> None:
    llm = backend(chat_server)
    for body in ('{"error": "busy"}', '{"choices": []}', '{"choices": [{"message": "x"}]}', "[]"):
        chat_server.plan = lambda question, n, body=body: f"body:{body}" if n == 0 else None
        assert (await llm.complete(ask(body))).text == f"echo {body}"


async def test_the_key_is_sent_and_never_shown(
    chat_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-secret\n")
    llm = backend(chat_server, api_key_env="SOME_KEY")
    await llm.complete(ask("q"))
    assert chat_server.headers[0]["Authorization"] == "Bearer sk-secret"
    chat_server.plan = lambda question, n: "body:who is sk-secret"
    with pytest.raises(LLMError) as caught:
        await backend(chat_server, api_key_env="SOME_KEY", retries=0).complete(ask("r"))
    assert "who is ***" in str(caught.value)
    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize("key", ["sk-secret\ndef", "sk-secret\u201d", "\ufeffsk-secret", "sk\x00"])
async def test_a_key_with_signs_no_key_has_is_refused_unshown(
    chat_server: Any, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.environ", {"SOME_KEY": key})  # a real one holds no zero byte
    with pytest.raises(ConfigError, match="variable SOME_KEY holds no usable key") as caught:
        await backend(chat_server, api_key_env="SOME_KEY").complete(ask("q"))
    assert "sk" not in str(caught.value)
    assert caught.value.__context__ is None
    assert not chat_server.bodies


@pytest.mark.parametrize("kind", ["LocalProtocolError", "ReadError"])
async def test_the_key_is_masked_in_what_the_http_library_says(
    chat_server: Any, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import httpx

    async def post(*args: Any, **settings: Any) -> None:
        raise getattr(httpx, kind)(f"bad header {settings['headers']['Authorization']!r}")

    monkeypatch.setenv("SOME_KEY", "sk-secret")
    monkeypatch.setattr(httpx.AsyncClient, "post", post)
    with pytest.raises(LLMError, match=r"bad header 'Bearer \*\*\*'") as caught:
        await backend(chat_server, api_key_env="SOME_KEY", retries=0).complete(ask("q"))
    assert "sk-secret" not in "".join(traceback.format_exception(caught.value))


async def test_a_text_that_no_json_can_hold_is_an_error_in_words(chat_server: Any) -> None:
    with pytest.raises(LLMError, match=r"cannot be written as JSON.*surrogates"):
        await backend(chat_server).complete(ask("half \ud83d"))


async def test_no_key_no_header(chat_server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    await backend(chat_server).complete(ask("q"))
    assert "authorization" not in {name.lower() for name in chat_server.headers[0]}


def formats(server: Any) -> list[str | None]:
    return [body.get("response_format", {}).get("type") for body in server.bodies]


@pytest.mark.parametrize("status", [400, 422])
async def test_a_refused_schema_is_dropped_and_remembered(chat_server: Any, status: int) -> None:
    chat_server.plan = lambda question, n: f"status:{status}" if question == "e" and n < 2 else None
    llm = backend(chat_server)
    assert (await llm.complete(ask("e", schema=SCHEMA))).text == "echo e"
    assert (await llm.complete(ask("second", schema=SCHEMA))).text == "echo second"
    assert formats(chat_server) == ["json_schema", "json_object", None, None]
    await llm.complete(ask("third", schema={"type": "array"}))  # another schema gets its chance
    assert formats(chat_server)[4:] == ["json_schema"]


async def test_the_older_format_is_enough(chat_server: Any) -> None:
    """llama-cpp-python's server answers 500 to ``json_schema``, and knows ``json_object``."""
    words = "validation error: response_format: Input should be 'text' or 'json_object'"
    chat_server.plan = lambda question, n: f"error:500:{words}" if n == 0 else None
    llm = backend(chat_server)
    await llm.complete(ask("q", schema=SCHEMA))
    await llm.complete(ask("q", schema=SCHEMA))
    assert formats(chat_server) == ["json_schema", "json_object", "json_object"]
    assert chat_server.bodies[1]["response_format"]["schema"] == SCHEMA
    assert llm.client.retried == 0


async def test_an_array_is_never_asked_for_as_an_object(chat_server: Any) -> None:
    chat_server.plan = lambda question, n: "status:400" if n == 0 else None
    await backend(chat_server).complete(ask("q", schema={"type": "array"}))
    assert formats(chat_server) == ["json_schema", None]


async def test_used_up_credit_is_final(chat_server: Any) -> None:
    chat_server.plan = lambda question, n: "error:429:insufficient_quota"
    with pytest.raises(RefusedError, match="no credit left"):
        await backend(chat_server).complete(ask("q"))
    assert chat_server.seen["q"] == 1


async def test_a_schema_is_not_blamed_for_another_error(chat_server: Any) -> None:
    chat_server.plan = lambda question, n: "status:400" if question == "bad" else None
    llm = backend(chat_server)
    with pytest.raises(RefusedError):
        await llm.complete(ask("bad", schema=SCHEMA))
    await llm.complete(ask("good", schema=SCHEMA))
    assert chat_server.bodies[-1]["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "reply", "schema": SCHEMA},
    }


async def test_schema_always_and_never(chat_server: Any) -> None:
    await backend(chat_server, json_schema="never").complete(ask("q", schema=SCHEMA))
    assert "response_format" not in chat_server.bodies[-1]
    chat_server.plan = lambda question, n: "status:400"
    with pytest.raises(RefusedError):
        await backend(chat_server, json_schema="always").complete(ask("r", schema=SCHEMA))
    assert chat_server.seen["r"] == 1


async def test_missing_token_counts_are_estimated_and_marked(chat_server: Any) -> None:
    chat_server.change = lambda answer: answer.pop("usage")
    completion = await backend(chat_server).complete(ask("12345678"))
    # "You echo." + question: 17 characters; "echo 12345678": 13 characters; 4 a token.
    assert (completion.input_tokens, completion.output_tokens) == (5, 4)
    assert completion.tokens_estimated


async def test_empty_content_and_length(chat_server: Any) -> None:
    def change(answer: dict[str, Any]) -> None:
        answer["choices"][0] = {"message": {"content": None}, "finish_reason": "length"}

    chat_server.change = change
    completion = await backend(chat_server).complete(ask("q"))
    assert (completion.text, completion.finish_reason) == ("", "length")


async def test_half_a_surrogate_pair_can_be_stored(chat_server: Any) -> None:
    def change(answer: dict[str, Any]) -> None:
        answer["choices"][0]["message"]["content"] = "a\ud83d\ude00b\ud83d"

    chat_server.change = change
    assert (await backend(chat_server).complete(ask("q"))).text == "a😀b\ufffd"


def test_several_event_loops_in_one_process(chat_server: Any) -> None:
    llm = backend(chat_server)

    async def several() -> list[str]:
        return [c.text for c in await asyncio.gather(*(llm.complete(ask(q)) for q in "abc"))]

    for _ in range(3):
        assert asyncio.run(several()) == ["echo a", "echo b", "echo c"]
        assert llm.client._clients == {}  # closed with its loop


def test_event_loops_in_several_threads(chat_server: Any) -> None:
    llm = backend(chat_server)

    async def several(name: str) -> list[str]:
        return [(await llm.complete(ask(f"{name}{i}"))).text for i in range(10)]

    with ThreadPoolExecutor(4) as threads:
        replies = list(threads.map(lambda name: asyncio.run(several(name)), "abcd"))
    assert replies == [[f"echo {name}{i}" for i in range(10)] for name in "abcd"]
    assert llm.client._clients == {}


async def test_concurrency_limits_connections(chat_server: Any) -> None:
    open_, most = [0], [0]

    def change(answer: dict[str, Any]) -> None:
        open_[0] += 1
        most[0] = max(most[0], open_[0])
        time.sleep(0.02)
        open_[0] -= 1

    chat_server.change = change
    llm = backend(chat_server, concurrency=2)
    await asyncio.gather(*(llm.complete(ask(str(i))) for i in range(12)))
    assert most[0] == 2


def test_identity_tells_models_apart_and_hides_passwords() -> None:
    config = OpenAICompatibleConfig("m", base_url="http://me:word@host:1/v1/")
    identity = OpenAICompatible(config).identity
    assert identity["base_url"] == "http://host:1/v1"
    other = OpenAICompatible(OpenAICompatibleConfig("n", base_url="http://host:1/v1")).identity
    assert {k for k in identity if identity[k] != other[k]} == {"model"}


def test_configuration() -> None:
    values = {"model": "m", "extra": {"top_p": 0.5}}
    config = build(OpenAICompatibleConfig, values)
    assert config.extra == {"top_p": 0.5}
    patient = build(OpenAICompatibleConfig, {**values, "retries": 9, "timeout": 5})
    assert fingerprint(config) == fingerprint(patient)
    with pytest.raises(ConfigError, match="http://localhost:8000/v1"):
        OpenAICompatible(OpenAICompatibleConfig("m", base_url="localhost:8000"))


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:99999/v1",
        "http://127.0.0.1:0/v1",
        "http://host:port/v1",
        "http://[::1/v1",
        "http:///v1",
        "http://local host:8000/v1",
        "http://localhost:8000/v1\n",
        "ftp://localhost/v1",
    ],
)
def test_an_address_nothing_can_be_sent_to_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match=r"base_url: got .*http://localhost:8000/v1"):
        OpenAICompatible(OpenAICompatibleConfig("m", base_url=address))


def test_a_refused_address_hides_its_password() -> None:
    with pytest.raises(ConfigError, match="got 'http://host:99999'"):
        OpenAICompatible(OpenAICompatibleConfig("m", base_url="http://me:word@host:99999"))


@pytest.mark.parametrize("address", ["http://[::1]:8000/v1", "https://me:word@host", "HTTP://h:1"])
def test_odd_addresses_that_work_are_taken(address: str) -> None:
    OpenAICompatible(OpenAICompatibleConfig("m", base_url=address))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"concurrency": 0}, "concurrency: got 0, expected at least 1"),
        ({"retries": -1}, "retries: got -1, expected at least 0"),
        ({"timeout": 0.0}, r"timeout: got 0\.0, expected seconds above 0"),
        ({"timeout": -1.0}, "timeout: got -1"),
        ({"timeout": math.nan}, "timeout: got nan"),
        ({"backoff": -0.5}, r"backoff: got -0\.5, expected seconds, 0 or more"),
        ({"extra": {"top_p": math.nan}}, "extra: got .*expected JSON"),
        ({"extra": {"since": date(2020, 1, 2)}}, "extra: got .*expected JSON"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        OpenAICompatible(build(OpenAICompatibleConfig, {"model": "m", **settings}))


async def test_the_http_library_can_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "httpx", None)
    with pytest.raises(ImportError, match=r"rag-research\[openai\]"):
        OpenAICompatible(OpenAICompatibleConfig("m"))
