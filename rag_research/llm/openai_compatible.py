"""Any server that speaks OpenAI's chat completions API: hosted, or on this machine."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rag_research.config import inert
from rag_research.config.fingerprint import canonical_json
from rag_research.llm.base import Completion, Request
from rag_research.llm.http import Endpoint, JsonClient, RefusedError

_CHARACTERS_PER_TOKEN = 4
_NOT_THE_FORMAT = frozenset({401, 403, 404, 429})


@dataclass(frozen=True, slots=True)
class OpenAICompatibleConfig:
    """A chat model behind HTTP.

    Args:
        model: as the server calls it.
        base_url: up to and including ``/v1``.
        api_key_env: environment variable with the key; may be unset for a local server.
        json_schema: whether a request's schema is sent as ``response_format``. ``auto`` sends
            it, tries the older ``json_object`` where the server refuses it, and goes without
            where it refuses that too; what a server accepts is remembered.
        extra: further keys of the request body; ``null`` removes one. For instance
            ``{max_tokens: null, max_completion_tokens: 512}``.
        timeout: seconds without a byte before a try is given up; grows with each timeout.
        retries: tries after the first one.
        concurrency: most requests at once.
        backoff: seconds before the first retry; doubled each time.
    """

    model: str
    name: str = "openai_compatible"
    base_url: str = "https://api.openai.com/v1"
    api_key_env: str = inert("OPENAI_API_KEY")
    json_schema: Literal["auto", "always", "never"] = "auto"
    extra: Mapping[str, Any] = field(default_factory=dict)
    timeout: float = inert(120.0)
    retries: int = inert(6)
    concurrency: int = inert(16)
    backoff: float = inert(0.5)

    def __post_init__(self) -> None:
        try:
            json.dumps(dict(self.extra), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"extra: got {dict(self.extra)!r}, expected JSON: {error}.") from error


class OpenAICompatible:
    """Chat completions over HTTP; many requests may be under way at once.

    Args:
        config: model, address, patience.

    Raises:
        MissingExtraError: ``httpx`` is not installed.
    """

    Config = OpenAICompatibleConfig

    def __init__(self, config: OpenAICompatibleConfig) -> None:
        self.config = config
        self.client = JsonClient(Endpoint.of(config), "The LLM backend openai_compatible")
        self._steps: dict[str, int] = {}

    @property
    def identity(self) -> Mapping[str, str]:
        """Backend, address and model, and what else of the configuration shapes replies."""
        return {
            "backend": "openai_compatible",
            "base_url": self.client.endpoint.shown,
            "model": self.config.model,
            "json_schema": self.config.json_schema,
            "extra": canonical_json(dict(self.config.extra)),
        }

    async def complete(self, request: Request) -> Completion:
        """Answer one request; seconds include waiting, pauses and retries.

        Raises:
            LLMError: the server refused, or every try failed.
        """
        started = time.perf_counter()
        body = self._body(request)
        schema = canonical_json(request.schema)
        formats = self._formats(request.schema)
        for step in range(self._steps.get(schema, 0), len(formats)):
            try:
                reply = await self._post({**body, **formats[step]})
            except RefusedError as error:
                if step == len(formats) - 1 or error.status in _NOT_THE_FORMAT:
                    raise
            else:
                # The same request passed in another format: the former was the reason.
                self._steps[schema] = step
                return _completion(request, reply, time.perf_counter() - started)
        raise AssertionError("the last format either passes or raises")

    def _formats(self, schema: Mapping[str, Any] | None) -> list[dict[str, Any]]:
        """What to add to the body, in the order it is tried until the server accepts."""
        if not schema or self.config.json_schema == "never":
            return [{}]
        wrapped = {"name": "reply", "schema": dict(schema)}
        formats = [{"type": "json_schema", "json_schema": wrapped}]
        if self.config.json_schema == "always":
            return [{"response_format": formats[0]}]
        if schema.get("type") == "object":  # the form llama-cpp-python's server knows
            formats.append({"type": "json_object", "schema": dict(schema)})
        return [*({"response_format": form} for form in formats), {}]

    def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.config.model,
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "seed": request.seed,
        }
        if request.stop:
            body["stop"] = list(request.stop)
        body.update(self.config.extra)
        return {key: value for key, value in body.items() if value is not None}

    async def _post(self, body: Mapping[str, Any]) -> _Reply:
        return await self.client.post("/chat/completions", body, _Reply.read)


@dataclass(frozen=True, slots=True)
class _Reply:
    text: str
    finish_reason: str
    input_tokens: int | None
    output_tokens: int | None

    @classmethod
    def read(cls, answer: Any) -> _Reply:
        choice, usage = answer["choices"][0], answer.get("usage") or {}
        text = choice["message"].get("content") or ""  # null in a refusal
        return cls(
            text=text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"),
            finish_reason=choice.get("finish_reason") or "stop",
            input_tokens=usage.get("prompt_tokens"),
            output_tokens=usage.get("completion_tokens"),
        )


def _completion(request: Request, reply: _Reply, seconds: float) -> Completion:
    asked = "".join(message.content for message in request.messages)
    counts = (reply.input_tokens, reply.output_tokens)
    guesses = (_guess_tokens(asked), _guess_tokens(reply.text))
    known = [
        guess if count is None else count for count, guess in zip(counts, guesses, strict=True)
    ]
    return Completion(
        text=reply.text,
        input_tokens=known[0],
        output_tokens=known[1],
        seconds=seconds,
        finish_reason=reply.finish_reason,
        tokens_estimated=None in counts,
    )


def _guess_tokens(text: str) -> int:
    return math.ceil(len(text) / _CHARACTERS_PER_TOKEN)
