"""Embeddings over HTTP against a real server that fails on purpose."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from rag_research.embed.base import Encoder
from rag_research.embed.openai_embeddings import OpenAIEmbeddings, OpenAIEmbeddingsConfig
from rag_research.errors import LLMError

pytest.importorskip("httpx")


class EmbeddingServer:
    """A text becomes ``[length, vowels, 1]``; the first ``faults`` requests get HTTP 500."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.faults = 0
        self.rows = [lambda text: [float(len(text)), float(sum(c in "aeiou" for c in text)), 1.0]]
        self.drop_last = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args: object) -> None:
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, answer = server.answer(body)
                text = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"
        threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True).start()

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        self.bodies.append(body)
        if self.faults > 0:
            self.faults -= 1
            return 500, {"error": "made up"}
        data = [
            {"index": i, "embedding": self.rows[0](text)} for i, text in enumerate(body["input"])
        ]
        if self.drop_last > 0:
            self.drop_last -= 1
            data.pop()
        return 200, {"data": data[::-1]}  # servers may answer in any order


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    server = EmbeddingServer()
    yield server
    server.http.shutdown()
    server.http.server_close()


def encoder(server: EmbeddingServer, **fields: Any) -> OpenAIEmbeddings:
    values = {"model": "e", "base_url": server.url, "backoff": 0.01, **fields}
    return OpenAIEmbeddings(OpenAIEmbeddingsConfig(**values))


def test_order_norm_and_prefixes(server: EmbeddingServer) -> None:
    made = encoder(server, query_prefix="q: ", passage_prefix="", batch_size=2)
    vectors = made.encode(["ab", "aaaa", "xyz"], "passage")
    expected = np.array([[2, 1, 1], [4, 4, 1], [3, 0, 1]], dtype=np.float32)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(vectors, expected, rtol=1e-6)
    assert vectors.dtype == np.float32
    assert sorted(len(body["input"]) for body in server.bodies) == [1, 2]
    assert all("dimensions" not in body for body in server.bodies)
    made.encode(["ab"], "query")
    assert server.bodies[-1] == {"model": "e", "input": ["q: ab"]}
    assert made.dimension == 3
    assert isinstance(made, Encoder)


def test_faults_are_retried(server: EmbeddingServer) -> None:
    server.faults, server.drop_last = 2, 1
    made = encoder(server, batch_size=1)
    vectors = made.encode(["a", "bb", "ccc"], "passage")
    assert vectors.shape == (3, 3)
    assert np.argsort(vectors[:, 2]).tolist() == [2, 1, 0]  # longer text, smaller constant part
    assert made.client.retried == 3


async def test_inside_a_running_loop_and_empty_texts(server: EmbeddingServer) -> None:
    made = encoder(server)
    vectors = made.encode(["", "b"], "query")
    assert server.bodies[-1]["input"] == [" ", "b"]
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert made.encode([], "query").shape == (0, 3)


def test_a_zero_vector_stays_finite(server: EmbeddingServer) -> None:
    server.rows = [lambda text: [0.0, 0.0]]
    assert encoder(server).encode(["a"], "query").tolist() == [[0.0, 0.0]]


def test_lengths_that_differ_are_an_error(server: EmbeddingServer) -> None:
    server.rows = [lambda text: [1.0] * len(text)]
    made = encoder(server)
    with pytest.raises(LLMError, match=r"lengths \[1, 2\]"):
        made.encode(["a", "bb"], "query")
    made.encode(["bb"], "query")
    with pytest.raises(LLMError, match=r"lengths \[2, 3\]"):  # also between calls
        made.encode(["ccc"], "query")


def test_dimensions_are_asked_for_and_identified(server: EmbeddingServer) -> None:
    made = encoder(server, dimensions=3)
    assert made.dimension == 3
    assert server.bodies[-1]["dimensions"] == 3
    assert made.identity["dimensions"] == "3"
    assert made.identity != encoder(server).identity
