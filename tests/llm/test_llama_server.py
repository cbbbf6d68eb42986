"""The HTTP backend against a real OpenAI-compatible server with a real model on loopback.

Runs when the 0.5B model is fetched and ``llama_cpp.server`` is installed, in this Python or in
the one that the environment variable ``LLAMA_SERVER_PYTHON`` names.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_research.errors import LLMError, ModelNotFoundError
from rag_research.llm.base import Message, Request
from rag_research.llm.openai_compatible import OpenAICompatible, OpenAICompatibleConfig
from rag_research.llm.structured import complete_structured, pick
from rag_research.runtime.weights import resolve_model

httpx = pytest.importorskip("httpx")
pytestmark = pytest.mark.slow

PYTHON = os.environ.get("LLAMA_SERVER_PYTHON", sys.executable)
START_SECONDS = 120
SCHEMA = {
    "type": "object",
    "properties": {"capital": {"type": "string"}},
    "required": ["capital"],
}


@pytest.fixture(scope="module")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    try:
        weights = resolve_model("qwen2.5-coder-0.5b-instruct").path
    except ModelNotFoundError as error:
        pytest.skip(str(error))
    if subprocess.run([PYTHON, "-c", "import llama_cpp.server"], capture_output=True).returncode:
        pytest.skip("llama_cpp.server is not installed")
    log = tmp_path_factory.mktemp("server") / "log.txt"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [PYTHON, "-m", "llama_cpp.server", "--model", str(weights), "--host", "127.0.0.1"]
    command += ["--port", str(port), "--n_ctx", "1024", "--n_threads", "1"]
    with log.open("w") as output:
        server = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        url = f"http://127.0.0.1:{port}/v1"
        _wait_until_up(url, server, log)
        yield url
    finally:
        server.terminate()
        server.wait()


def _wait_until_up(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(START_SECONDS * 2):
        assert server.poll() is None, log.read_text()[-2000:]
        try:
            if httpx.get(f"{url}/models").is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.5)
    raise AssertionError(f"no server after {START_SECONDS} s: {log.read_text()[-2000:]}")


def ask(country: str, **fields: object) -> Request:
    text = f"What is the capital of {country}? Answer with its name only."
    return Request((Message("user", text),), max_tokens=16, **fields)  # type: ignore[arg-type]


async def test_real_replies(base_url: str) -> None:
    llm = OpenAICompatible(OpenAICompatibleConfig("local", base_url=base_url, retries=1))
    countries = {"France": "Paris", "Italy": "Rome", "Japan": "Tokyo"}
    completions = await asyncio.gather(*(llm.complete(ask(c)) for c in countries))
    for completion, capital in zip(completions, countries.values(), strict=True):
        assert capital in completion.text
        assert completion.finish_reason == "stop"
        assert not completion.tokens_estimated
        assert 10 < completion.input_tokens < 60
        assert 1 <= completion.output_tokens <= 16
    again = await llm.complete(ask("France"))
    assert again.text == completions[0].text  # greedy


async def test_structured_output_whatever_the_server_knows(base_url: str) -> None:
    """The server enforces the schema, or refuses it and is asked without; a value comes out."""
    llm = OpenAICompatible(OpenAICompatibleConfig("local", base_url=base_url, retries=1))
    text = 'The capital of France as JSON, like {"capital": "Madrid"} for Spain.'
    request = Request((Message("user", text),), max_tokens=32, schema=SCHEMA)
    parsed = await complete_structured(llm, request, lambda value: str(pick(value, "capital")))
    assert parsed.value == "Paris"


async def test_stop_and_length(base_url: str) -> None:
    llm = OpenAICompatible(OpenAICompatibleConfig("local", base_url=base_url, retries=1))
    text = "Count from 1 to 20, separated by commas."
    cut = await llm.complete(Request((Message("user", text),), max_tokens=8))
    assert (cut.finish_reason, cut.output_tokens) == ("length", 8)
    stopped = await llm.complete(Request((Message("user", text),), max_tokens=60, stop=("4",)))
    assert "3" in stopped.text
    assert "4" not in stopped.text


async def test_a_request_that_is_too_long_is_refused_with_words(base_url: str) -> None:
    llm = OpenAICompatible(OpenAICompatibleConfig("local", base_url=base_url, retries=1))
    with pytest.raises(LLMError, match="context"):
        await llm.complete(Request((Message("user", "word " * 2000),)))
