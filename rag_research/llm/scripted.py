"""A language model that reads its replies from a script: whole loops run without weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from rag_research.config import fingerprint
from rag_research.errors import LLMError
from rag_research.llm.base import Completion, Request

Script = Sequence[str] | Mapping[str, Sequence[str]] | Callable[[Request], str]


@dataclass(frozen=True, slots=True)
class ScriptedConfig:
    """Replies to give in order.

    Args:
        replies: one for each call, whatever is asked.
        otherwise: the reply to every call after those; without it such a call fails.
    """

    name: str = "scripted"
    replies: tuple[str, ...] = field(default=())
    otherwise: str | None = None


class Scripted:
    """Answers from a script, and remembers what it was asked.

    Tokens are counted as words separated by white space. For tests, :meth:`of` takes richer
    scripts than a configuration file can hold.

    Args:
        config: the replies, and what is said when they are used up.

    Example:
        >>> llm = Scripted.of({"decompose": ["[]"], "answer": ["Paris", "Rome"]})
    """

    Config = ScriptedConfig

    def __init__(self, config: ScriptedConfig) -> None:
        self.requests: list[Request] = []
        self._answered: dict[str, int] = {}
        self._script: Script = config.replies
        self._otherwise = config.otherwise

    @classmethod
    def of(cls, script: Script) -> Scripted:
        """A scripted model for a test.

        Args:
            script: replies in order; or replies in order for each ``purpose``; or a function
                from request to reply.
        """
        llm = cls(ScriptedConfig())
        llm._script = script
        return llm

    @property
    def identity(self) -> Mapping[str, str]:
        """``backend`` and a hash of the script (a function is known by its name only)."""
        script = self._script
        shown = getattr(script, "__qualname__", "") if callable(script) else script
        told = shown if self._otherwise is None else [shown, self._otherwise]
        return {"backend": "scripted", "script": fingerprint(told)}

    async def complete(self, request: Request) -> Completion:
        """The next reply of the script.

        Raises:
            LLMError: the script has no reply for this call, and no other was given.
        """
        self.requests.append(request)
        text = self._script(request) if callable(self._script) else self._next(request)
        words = sum(len(message.content.split()) for message in request.messages)
        return Completion(text, input_tokens=words, output_tokens=len(text.split()))

    def _next(self, request: Request) -> str:
        assert not callable(self._script)
        by_purpose = isinstance(self._script, Mapping)
        place = request.purpose if by_purpose else ""
        replies = self._script.get(place, ()) if isinstance(self._script, Mapping) else self._script
        number = self._answered.get(place, 0)
        if number >= len(replies) and self._otherwise is not None:
            return self._otherwise
        if number >= len(replies):
            of_purpose = f" of purpose {place!r}" if by_purpose else ""
            raise LLMError(
                f"scripted: call {number + 1}{of_purpose} (call {len(self.requests)} in all, "
                f"purpose {request.purpose!r}) has no reply; the script holds {len(replies)}. "
                f"Last message asked: {request.messages[-1].content[-200:]!r}. "
                "Add a reply, or look for a call that should not happen."
            )
        self._answered[place] = number + 1
        return replies[number]
