"""The protocol of a frozen language model, and the request that is sent to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Request:
    """One completion to ask for. The cache key covers every field but ``purpose``, ``accept``.

    Args:
        messages: the chat so far; the last message is the user's.
        max_tokens: most tokens to generate.
        temperature: 0 is greedy.
        seed: for sampling at temperature > 0.
        stop: strings that end the reply; they are not part of it.
        schema: JSON schema the reply should follow, for backends that can enforce it.
        purpose: labels the cost: ``"decompose"``, ``"answer"``, ...
        prompt: name and version of the prompt file, ``"t2rag/decompose@1"``.
        accept: called with a reply before it is cached; raises
            :class:`~rag_research.errors.ParseError` when the reply is unusable, which keeps it
            out of the cache.
    """

    messages: tuple[Message, ...]
    max_tokens: int = 256
    temperature: float = 0.0
    seed: int = 0
    stop: tuple[str, ...] = ()
    schema: Mapping[str, Any] | None = None
    purpose: str = ""
    prompt: str = ""
    accept: Callable[[str], object] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Completion:
    """What came back.

    Args:
        text: the reply without stop string.
        input_tokens: prompt tokens as the backend counts them.
        output_tokens: generated tokens.
        seconds: wall-clock time of this call, waiting included.
        cached: a cache answered, no model ran.
        finish_reason: ``"stop"`` or ``"length"``.
        tokens_estimated: the backend gave no token counts; these are guessed from the text.
    """

    text: str
    input_tokens: int
    output_tokens: int
    seconds: float = 0.0
    cached: bool = False
    finish_reason: str = "stop"
    tokens_estimated: bool = False


@runtime_checkable
class LLM(Protocol):
    """A frozen language model; it is only ever prompted."""

    @property
    def identity(self) -> Mapping[str, str]:
        """What makes replies comparable: backend, model, weights hash or endpoint, precision."""
        ...

    async def complete(self, request: Request) -> Completion:
        """Answer one request.

        Raises:
            LLMError: the backend failed for good.
            BudgetExceededError: a budget wrapper is spent.
        """
        ...
