"""Does the OpenAI-compatible backend lose questions, or answer one twice, when a server fails?

Puts a proxy in front of a real server. With a given rate, decided by a seed, the proxy answers
429 or 500, stays silent until the client gives up, cuts the JSON, or resets the connection. The
same questions are asked once without and once with faults, and the replies are compared.

    python -m llama_cpp.server --model MODEL.gguf --port 8077 --n_ctx 2048 &
    python benchmarks/openai_backend_faults.py --base-url http://127.0.0.1:8077/v1
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import socket
import struct
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

from rag_research.errors import LLMError
from rag_research.llm.base import Completion, Message, Request
from rag_research.llm.openai_compatible import OpenAICompatible, OpenAICompatibleConfig

FAULTS = ("429", "500", "timeout", "truncated JSON", "connection reset")
COUNTRIES = (
    *("France", "Italy", "Spain", "Portugal", "Germany", "Austria", "Poland", "Hungary"),
    *("Greece", "Turkey", "Egypt", "Kenya", "Ghana", "Morocco", "Japan", "China", "India"),
    *("Thailand", "Vietnam", "Indonesia", "Australia", "Canada", "Mexico", "Cuba", "Peru"),
    *("Chile", "Brazil", "Argentina", "Norway", "Sweden", "Finland", "Denmark", "Ireland"),
    *("Iceland", "Belgium", "Romania", "Bulgaria", "Croatia", "Serbia", "Ukraine"),
)


@dataclass
class Proxy:
    """Forwards to ``upstream`` and fails on purpose.

    Args:
        upstream: base URL of the real server.
        rate: share of requests that fail, all kinds together.
        silence: seconds a "timeout" lasts; longer than the client waits.
        seed: decides which requests fail and how.
    """

    upstream: str
    rate: float
    silence: float
    seed: int
    faults: Counter[str] = field(default_factory=Counter)
    requests: Counter[str] = field(default_factory=Counter)
    delivered: Counter[str] = field(default_factory=Counter)
    late: int = 0

    def __enter__(self) -> Proxy:
        self._random = random.Random(self.seed)
        self._lock = threading.Lock()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: object) -> None:
                pass

            def do_POST(self) -> None:
                proxy._handle(self)

        class Http(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

        self._http = Http(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"
        return self

    def __exit__(self, *error: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def _handle(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        question = json.loads(body)["messages"][-1]["content"]
        with self._lock:
            fails = self._random.random() < self.rate
            fault = self._random.choice(FAULTS) if fails else ""
            # Before or after the model ran: the second loses a finished answer on the way.
            early = self._random.random() < 0.5
            self.requests[question] += 1
            self.faults[fault] += 1
        if fault in ("429", "500"):
            _send(handler, int(fault), b'{"error": {"message": "injected"}}')
        elif fault == "timeout":
            time.sleep(self.silence)
            handler.close_connection = True
        elif fault == "connection reset" and early:
            _reset(handler)
        else:
            self._forward(handler, body, question, fault)

    def _forward(
        self, handler: BaseHTTPRequestHandler, body: bytes, question: str, fault: str
    ) -> None:
        headers = {"Content-Type": "application/json"}
        url = self.upstream.rstrip("/") + "/chat/completions"
        answer = httpx.post(url, content=body, headers=headers, timeout=600)
        if _given_up(handler):
            with self._lock:
                self.late += 1
            handler.close_connection = True
        elif fault == "connection reset":
            _reset(handler)
        elif fault == "truncated JSON":
            _send(handler, 200, answer.content[: len(answer.content) // 2])
        else:
            _send(handler, answer.status_code, answer.content)
            with self._lock:
                self.delivered[question] += answer.is_success


def _send(handler: BaseHTTPRequestHandler, status: int, body: bytes) -> None:
    try:
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
    except ConnectionError:  # the client has given up waiting
        handler.close_connection = True


def _given_up(handler: BaseHTTPRequestHandler) -> bool:
    """Whether the client has closed the connection; what is sent now reaches nobody."""
    try:
        return not handler.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def _reset(handler: BaseHTTPRequestHandler) -> None:
    linger = struct.pack("ii", 1, 0)  # close with RST instead of FIN
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    handler.close_connection = True


def questions(number: int) -> list[Request]:
    """Short questions with short answers, all different."""
    return [
        Request((Message("user", f"What is the capital of {country}? Name only."),), max_tokens=16)
        for country in COUNTRIES[:number]
    ]


async def ask_all(llm: OpenAICompatible, requests: list[Request]) -> list[Completion | None]:
    """Every completion in order; ``None`` for a question that was lost."""

    async def one(request: Request) -> Completion | None:
        try:
            return await llm.complete(request)
        except LLMError as error:
            print(f"lost: {request.messages[-1].content!r}: {error}")
            return None

    return await asyncio.gather(*map(one, requests))


def measure(arguments: argparse.Namespace, rate: float) -> tuple[dict[str, Any], list[str | None]]:
    """One run of all questions through the proxy: the figures, and the replies."""
    requests = questions(arguments.questions)
    with Proxy(arguments.base_url, rate, arguments.timeout * 1.2, arguments.seed) as proxy:
        llm = OpenAICompatible(
            OpenAICompatibleConfig(
                model=arguments.model,
                base_url=proxy.url,
                timeout=arguments.timeout,
                concurrency=arguments.concurrency,
                retries=arguments.retries,
            )
        )
        started = time.perf_counter()
        completions = asyncio.run(ask_all(llm, requests))
        seconds = time.perf_counter() - started
    figures = {
        "asked": len(requests),
        "answered": sum(c is not None for c in completions),
        "lost": sum(c is None for c in completions),
        "answered twice": sum(count > 1 for count in proxy.delivered.values()),
        **{f"injected: {fault}": proxy.faults[fault] for fault in FAULTS},
        "real timeouts": proxy.late,
        "requests at the proxy": proxy.requests.total(),
        "retries": llm.client.retried,
        "seconds": round(seconds, 1),
    }
    return figures, [c.text if c else None for c in completions]


def main() -> None:
    """Run both and print one table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--base-url", required=True, help="of a real server, up to /v1")
    parser.add_argument("--model", default="local", help="as the server calls it")
    parser.add_argument("--questions", type=int, default=24, help=f"at most {len(COUNTRIES)}")
    parser.add_argument("--rate", type=float, default=0.4, help="share of requests that fail")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=30.0, help="seconds")
    parser.add_argument("--concurrency", type=int, default=4)
    parser.add_argument("--retries", type=int, default=10)
    arguments = parser.parse_args()
    plain, plain_replies = measure(arguments, 0.0)
    faulty, faulty_replies = measure(arguments, arguments.rate)
    width = max(map(len, faulty))
    print(f"{'':{width}}  no faults  rate {arguments.rate:g}")
    for name in faulty:
        print(f"{name:{width}}  {plain[name]:>9}  {faulty[name]:>8}")
    same = sum(a == b for a, b in zip(plain_replies, faulty_replies, strict=True))
    print(f"replies equal in both runs: {same} of {len(plain_replies)}")


if __name__ == "__main__":
    main()
