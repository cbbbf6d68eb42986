"""Every call of one question, written into that question's trace."""

from __future__ import annotations

from collections.abc import Mapping

from rag_research.llm.base import LLM, Completion, Request
from rag_research.trace import Trace, plain
from rag_research.types import Usage


class TracedLLM:
    """Passes requests through and notes prompt, reply and cost of each in a trace.

    The outermost wrapper, made anew for every question: cached calls are noted too.

    Args:
        llm: what answers.
        trace: where to note the calls.
    """

    def __init__(self, llm: LLM, trace: Trace) -> None:
        self.llm = llm
        self.trace = trace

    @property
    def identity(self) -> Mapping[str, str]:
        """The identity of what answers."""
        return self.llm.identity

    async def complete(self, request: Request) -> Completion:
        """Answer one request and note it in the trace."""
        completion = await self.llm.complete(request)
        self.trace.record_call(request.purpose, usage_of(completion), call_of(request, completion))
        return completion


def usage_of(completion: Completion) -> Usage:
    """What one completion cost."""
    return Usage(
        calls=1,
        cached_calls=int(completion.cached),
        input_tokens=completion.input_tokens,
        output_tokens=completion.output_tokens,
        seconds=completion.seconds,
    )


def call_of(request: Request, completion: Completion) -> dict[str, object]:
    """One call in plain types, as it stands in a trace."""
    return {
        "prompt": request.prompt,
        "messages": plain(request.messages),
        "reply": completion.text,
        "finish_reason": completion.finish_reason,
        "cached": completion.cached,
        "tokens_estimated": completion.tokens_estimated,
    }
