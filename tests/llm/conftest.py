"""A real HTTP server that answers chat completions and fails on purpose."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

SLOW_SECONDS = 0.8


class ChatServer:
    """Echoes the last message, after the faults that ``plan`` asks for.

    ``plan(question, n)`` names the fault for the n-th request (from 0) of a question, or is
    ``None`` for a good answer.
    """

    def __init__(self) -> None:
        self.plan: Callable[[str, int], str | None] = lambda question, n: None
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        self.seen: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.change: Callable[[dict[str, Any]], object] = lambda answer: None
        self._lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: object) -> None:
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.handle(self, body)

        class Http(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

        self.http = Http(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"
        threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True).start()

    def handle(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        question = body["messages"][-1]["content"]
        with self._lock:
            fault = self.plan(question, self.seen[question])
            self.seen[question] += 1
            self.bodies.append(body)
            self.headers.append(dict(handler.headers))
            self.times.append(time.monotonic())
            self.faults[fault or "none"] += 1
        if fault is None:
            self._answer(handler, question)
        else:
            self._fail(handler, fault, question)

    def _good(self, question: str) -> bytes:
        answer: dict[str, Any] = {
            "choices": [
                {"message": {"role": "assistant", "content": f"echo {question}"},
                 "finish_reason": "stop"}
            ],
            "usage": {"prompt_tokens": 11, "completion_tokens": 3},
        }  # fmt: skip
        self.change(answer)
        return json.dumps(answer).encode()

    def _answer(self, handler: BaseHTTPRequestHandler, question: str) -> None:
        self._send(handler, 200, self._good(question))
        with self._lock:
            self.answered[question] += 1

    def _fail(self, handler: BaseHTTPRequestHandler, fault: str, question: str) -> None:
        kind, _, detail = fault.partition(":")
        if kind == "status":
            status, _, retry_after = detail.partition(":")
            extra = {"Retry-After": retry_after} if retry_after else {}
            body = json.dumps({"error": {"message": f"made up {status}"}}).encode()
            self._send(handler, int(status), body, extra)
        elif kind == "error":
            status, _, words = detail.partition(":")
            self._send(handler, int(status), json.dumps({"error": {"message": words}}).encode())
        elif kind == "slow":
            time.sleep(SLOW_SECONDS)
            handler.close_connection = True
        elif kind == "late":
            time.sleep(SLOW_SECONDS)
            self._answer(handler, question)
        elif kind == "cut_json":  # the length fits, the JSON does not
            self._send(handler, 200, self._good(question)[:30])
        elif kind == "cut_body":  # the connection ends before the announced length
            self._send(handler, 200, self._good(question)[:30], {"Content-Length": "500"})
        elif kind == "reset":
            linger = struct.pack("ii", 1, 0)  # close with RST instead of FIN
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            handler.close_connection = True
        elif kind == "body":
            self._send(handler, 200, detail.encode())
        else:
            raise AssertionError(f"no such fault: {fault}")

    def _send(
        self,
        handler: BaseHTTPRequestHandler,
        status: int,
        body: bytes,
        headers: dict[str, str] | None = None,
    ) -> None:
        headers = {"Content-Length": str(len(body)), **(headers or {})}
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)
        if int(headers["Content-Length"]) != len(body):
            handler.close_connection = True


@pytest.fixture
def chat_server() -> Iterator[ChatServer]:
    server = ChatServer()
    yield server
    server.http.shutdown()
    server.http.server_close()
