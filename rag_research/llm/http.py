"""JSON over HTTP with retries, for every OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
import os
import random
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, fields
from email.utils import parsedate_to_datetime
from math import inf
from time import time
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

from rag_research.errors import ConfigError, LLMError, missing_extra

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

MAX_WAIT = 60.0
MAX_PATIENCE = 8
_RETRIED = frozenset({408, 409, 425, 429})
# Some servers answer 500 to a request they cannot take, or 429 when the credit is used up.
_FINAL_WORDS = ("insufficient_quota", "validation error", "response_format")
_EXCERPT = 300


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to send requests and how patient to be.

    Args:
        base_url: up to and including ``/v1``.
        api_key_env: name of the environment variable that holds the key; a server that asks
            for none needs none set.
        timeout: seconds without a byte before a try is given up; doubled for a request after
            each of its timeouts, at most eight-fold, because a server that is merely busy
            still works on the tries that were given up.
        retries: tries after the first one.
        concurrency: most connections at once; further requests wait.
        backoff: seconds before the first retry; doubled each time, at most 60, jittered.

    Raises:
        ConfigError: an address nothing can be sent to, or a number out of its range.
    """

    base_url: str
    api_key_env: str
    timeout: float
    retries: int
    concurrency: int
    backoff: float

    def __post_init__(self) -> None:
        if not _is_address(self.base_url):
            shown = re.sub("//.*@", "//", self.base_url)  # without user name and password
            raise ConfigError(
                f"base_url: got {shown!r}, expected http or https, a host and, if need be, a "
                "port up to 65535, something like 'http://localhost:8000/v1'."
            )
        for name, least in (("retries", 0), ("concurrency", 1)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name}: got {getattr(self, name)}, expected at least {least}.")
        if not 0 < self.timeout < inf:
            raise ConfigError(f"timeout: got {self.timeout}, expected seconds above 0.")
        if not 0 <= self.backoff < inf:
            raise ConfigError(f"backoff: got {self.backoff}, expected seconds, 0 or more.")

    @classmethod
    def of(cls, config: Any) -> Endpoint:
        """The endpoint that a component's configuration describes in fields of the same names."""
        return cls(**{field.name: getattr(config, field.name) for field in fields(cls)})

    @property
    def shown(self) -> str:
        """The base URL without user name and password."""
        parts = urlsplit(self.base_url.rstrip("/"))
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


class RefusedError(LLMError):
    """The server said no to the request itself: asking again is useless."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class _TryAgain(Exception):  # noqa: N818 - it never leaves this file
    def __init__(self, reason: str, wait: float = 0.0, late: bool = False) -> None:
        super().__init__(reason)
        self.wait = wait
        self.late = late


class JsonClient:
    """Posts JSON until an answer arrives, or until it is certain that none will.

    Tried again, after a jittered and growing pause: 408, 409, 425, 429 (at least as long as
    ``Retry-After`` says), 5xx, lost connections, timeouts, and bodies that are cut or not of
    the expected form. One call returns one answer; an answer that was lost on the way is asked
    for again.

    Args:
        endpoint: where and how.
        purpose: what needs it, for the message when ``httpx`` is missing.
    """

    def __init__(self, endpoint: Endpoint, purpose: str) -> None:
        try:
            import httpx
        except ImportError as error:
            raise missing_extra("httpx", "openai", purpose) from error
        self._httpx = httpx
        self.endpoint = endpoint
        self.retried = 0
        self._jitter = random.Random()  # its own: pauses must not move the run's seed
        self._clients: dict[
            asyncio.AbstractEventLoop, tuple[httpx.AsyncClient, AsyncGenerator[None, None]]
        ] = {}

    async def post(self, path: str, body: Mapping[str, Any], read: Callable[[Any], T]) -> T:
        """Post ``body`` and return what ``read`` makes of the answer.

        Args:
            path: below the base URL, ``"/chat/completions"``.
            body: sent as JSON.
            read: takes the decoded answer; a ``ValueError``, ``LookupError``, ``TypeError``
                or ``AttributeError`` from it means that the answer is malformed.

        Raises:
            RefusedError: the server refused the request.
            LLMError: every try failed, or the request cannot be sent.
            ConfigError: the key has signs that no key has.
        """
        reason, patience = "", 1
        for attempt in range(self.endpoint.retries + 1):
            try:
                return await self._try(path, body, read, patience * self.endpoint.timeout)
            except _TryAgain as problem:
                reason = str(problem)
                if problem.late:
                    patience = min(2 * patience, MAX_PATIENCE)
                if attempt < self.endpoint.retries:
                    self.retried += 1
                    await asyncio.sleep(max(problem.wait, self._pause(attempt)))
        raise LLMError(
            f"POST {self.endpoint.shown}{path} failed {self.endpoint.retries + 1} times, at last "
            f"with: {reason}. Check that the server is up and not overloaded; retries, timeout "
            "and concurrency are settings. Finished work is kept: run the same command again."
        )

    def _pause(self, attempt: int) -> float:
        longest = min(MAX_WAIT, self.endpoint.backoff * 2.0**attempt)
        return longest * self._jitter.uniform(0.5, 1.0)

    async def _try(
        self, path: str, body: Mapping[str, Any], read: Callable[[Any], T], timeout: float
    ) -> T:
        key = self._key()
        response = await self._send(path, body, key, timeout)
        if not response.is_success:
            raise self._failure(path, response, key)
        try:
            return read(response.json())
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            problem = _masked(repr(error), key)
            raise _TryAgain(
                f"an answer that cannot be read ({problem}): {self._excerpt(response, key)}"
            ) from error

    def _key(self) -> str:
        name = self.endpoint.api_key_env
        key = os.environ.get(name, "").strip()
        if not (key.isascii() and key.isprintable()):
            raise ConfigError(
                f"The environment variable {name} holds no usable key: there is a line break or "
                "another sign in it that no key has, perhaps a typographic quotation mark. Set "
                "it to the key alone."
            )
        return key

    async def _send(
        self, path: str, body: Mapping[str, Any], key: str, timeout: float
    ) -> httpx.Response:
        httpx = self._httpx
        client = await self._client_of_loop()
        url = self.endpoint.base_url.rstrip("/") + path
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        where = f"POST {self.endpoint.shown}{path}"
        try:
            # Waiting for a free connection is no failure, so it has no time limit.
            limit = httpx.Timeout(timeout, pool=None)
            return await client.post(url, json=body, headers=headers, timeout=limit)
        except (httpx.UnsupportedProtocol, httpx.LocalProtocolError, httpx.InvalidURL) as error:
            # Without its cause, whose text can hold the headers.
            raise LLMError(f"{where}: {_masked(str(error), key)}. Check base_url.") from None
        except httpx.RequestError as error:  # lost, late, or not decodable
            late = isinstance(error, httpx.TimeoutException)
            reason = _masked(f"{type(error).__name__} {error}".strip(), key)
            raise _TryAgain(reason, late=late) from error
        except ValueError as error:  # half a character, a number that is none
            raise LLMError(f"{where}: the request cannot be written as JSON: {error}.") from error

    def _failure(self, path: str, response: httpx.Response, key: str) -> Exception:
        status, excerpt = response.status_code, self._excerpt(response, key)
        final = any(words in response.text for words in _FINAL_WORDS)
        if (status >= 500 or status in _RETRIED) and not final:
            return _TryAgain(f"HTTP {status}: {excerpt}", _retry_after(response.headers))
        advice = {
            401: f"Set the environment variable {self.endpoint.api_key_env} to a valid key"
            + (" (it is set)." if key else " (it is not set)."),
            403: "The key may not use this model or endpoint.",
            404: "Check the model name, and that base_url ends where the API begins, often '/v1'.",
            429: "The account has no credit left.",
        }.get(status, "Check the model name and the request settings.")
        where = f"POST {self.endpoint.shown}{path}"
        return RefusedError(f"{where}: HTTP {status}: {excerpt} {advice}", status)

    def _excerpt(self, response: httpx.Response, key: str) -> str:
        text = " ".join(response.text.split())
        return _masked(text, key)[:_EXCERPT]

    async def _client_of_loop(self) -> httpx.AsyncClient:
        """The client of the running event loop; connections cannot be shared between loops."""
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            most = self.endpoint.concurrency
            limits = self._httpx.Limits(max_connections=most, max_keepalive_connections=most)
            client = self._httpx.AsyncClient(limits=limits)
            # asyncio.run closes the loop's open async generators, and this closes the client.
            closer = self._close_with_loop(loop, client)
            self._clients[loop] = (client, closer)
            await anext(closer)
        return self._clients[loop][0]

    async def _close_with_loop(
        self, loop: asyncio.AbstractEventLoop, client: httpx.AsyncClient
    ) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            del self._clients[loop]
            await client.aclose()
            await asyncio.sleep(0)  # lets the sockets close before the loop does


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:  # brackets that do not close, a port beyond 65535
        return False
    known = parts.scheme in ("http", "https") and bool(parts.hostname)
    return known and port != 0 and not any(map(str.isspace, url))


def _masked(text: str, key: str) -> str:
    return text.replace(key, "***") if key else text


def _retry_after(headers: Mapping[str, str]) -> float:
    """Seconds of a ``Retry-After`` header (a number or a date); 0 without a readable one."""
    value = headers.get("retry-after", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time()
        except (ValueError, TypeError):
            return 0.0
    return min(max(seconds, 0.0), 10 * MAX_WAIT)
