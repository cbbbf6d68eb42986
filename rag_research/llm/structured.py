"""Values out of replies that should be JSON and often nearly are.

schema -> tolerant parser -> one repair request -> a reject that the caller counts.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rag_research.errors import ParseError
from rag_research.llm.base import LLM, Message, Request
from rag_research.llm.lenient_json import MAX_DEPTH, UnreadableError, finite_number, read_value
from rag_research.prompts.library import PromptLibrary

T = TypeVar("T")
Reader = Callable[[Any], T]

_REASONING = re.compile(
    r"<(think|thinking|thought|reasoning|reflection)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)
_REASONING_END = re.compile(r".*</(?:think|thinking|thought|reasoning|reflection)>", re.S | re.I)
_FENCE = re.compile(r"```[ \t]*[\w+-]*[ \t]*\r?\n?(.*?)(?:```|\Z)", re.DOTALL)
# A tuple starts with a quoted string: "(1990)" in prose is none.
_START = re.compile(r"[\[{]|\((?=\s*[\"'“‘])")
_BETWEEN = re.compile(r"[\s,;]*(?:[-*•]|\d+[.)])?\s*")
_DECODER = json.JSONDecoder(
    strict=False, parse_constant=lambda _: None, parse_float=finite_number, parse_int=finite_number
)
_YES, _NO = ("true", "yes"), ("false", "no")
_LONE_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Parsed(Generic[T]):
    """What a structured request led to.

    Args:
        value: what the reader made of the reply; ``None`` when nothing was usable.
        attempts: completions asked for, 1 or 2.
        error: why the last reply was rejected; empty when it was not.
    """

    value: T | None
    attempts: int = 1
    error: str = ""

    @property
    def repaired(self) -> bool:
        """Whether a repair was asked for, with success or not."""
        return self.attempts > 1

    @property
    def rejected(self) -> bool:
        """Whether nothing was usable; callers count and report these."""
        return bool(self.error)


@dataclass(frozen=True, slots=True)
class _Found:
    value: Any
    start: int
    end: int
    fenced: bool


async def complete_structured(
    llm: LLM, request: Request, read: Reader[T], prompts: PromptLibrary | None = None
) -> Parsed[T]:
    """Ask for a value; when the reply is unusable, say what was wrong and ask once more.

    Args:
        llm: what answers; a cache around it does not keep an unusable reply.
        request: its ``accept`` is set here.
        read: turns one decoded JSON value into the wanted form, or raises
            :class:`ParseError`; called with each value found until one is accepted.
        prompts: where the prompt ``repair`` is taken from; the built-in ones by default.

    Returns:
        Never raises for a bad reply: see :attr:`Parsed.rejected`.
    """
    request = dataclasses.replace(request, accept=lambda text: read_reply(text, read))
    completion = await llm.complete(request)
    try:
        return Parsed(read_reply(completion.text, read))
    except ParseError as error:
        problem = str(error)
    if completion.finish_reason == "length":
        problem += " It was cut off because it was too long; be brief."
    repair = (prompts or PromptLibrary())["repair"]
    messages = (
        *request.messages,
        Message("assistant", completion.text),
        *repair.render(problem=problem),
    )
    label = f"{request.prompt}+{repair.label}"
    completion = await llm.complete(dataclasses.replace(request, messages=messages, prompt=label))
    try:
        return Parsed(read_reply(completion.text, read), attempts=2)
    except ParseError as error:
        return Parsed(None, attempts=2, error=str(error))


def read_reply(text: str, read: Reader[T]) -> T:
    """The first value in ``text`` that ``read`` accepts.

    Raises:
        ParseError: there is none; the message is about the best candidate.
    """
    problem = ""
    for value in json_values(text):
        try:
            return read(value)
        except ParseError as error:
            problem = problem or str(error)
    raise ParseError(problem or f"The reply holds no JSON; it starts {text.strip()[:80]!r}.")


def json_values(text: str) -> list[Any]:
    """Every list or mapping that can be recovered from a reply, the best candidate first.

    Reasoning blocks are left out. Values in code fences come before others, longer ones
    before shorter ones. Values that follow each other like the items of one list (one a
    line, numbered, comma-separated) are offered as one list before they are offered singly.
    A string, number or ``null`` counts only when it is the whole reply or a whole fence.

    Args:
        text: a reply, possibly cut off.
    """
    if (whole := _strict(text.strip())) is not None:
        return [_clean(text, whole[0])]
    text = without_reasoning(text)
    fences = [match.span(1) for match in _FENCE.finditer(text)]
    found = sorted(_scan(text, fences), key=lambda f: (not f.fenced, f.start - f.end))
    scalars = [_strict(text[a:b].strip()) for a, b in [*fences, (0, len(text))]]
    values = [f.value for f in found] + [s[0] for s in scalars if s is not None]
    unique = {repr(value): value for value in values}
    return [_clean(text, value) for value in unique.values()]


def pick(value: Any, *names: str) -> Any:
    """What a mapping holds under the first of several names.

    Case, spaces, ``_`` and ``-`` do not count: ``"Sub Questions"`` answers to
    ``"sub_questions"``.

    Args:
        value: a decoded JSON value.
        names: the asked name first, then others that models write.

    Raises:
        ParseError: not a mapping, or none of the names is in it.
    """
    if not isinstance(value, Mapping):
        raise ParseError(
            f"Expected a JSON object with the key {names[0]!r}, got {type(value).__name__}."
        )
    held = {_folded(str(key)): item for key, item in value.items()}
    for name in names:
        if _folded(name) in held:
            return held[_folded(name)]
    raise ParseError(f"The JSON object has no key {names[0]!r}; it has {list(value)[:8]}.")


def pick_yes_no(value: Any, *names: str) -> bool:
    """The truth value that a mapping holds under one of several names; see :func:`pick`.

    Raises:
        ParseError: not a mapping, none of the names is in it, or neither true nor false.
    """
    said = str(pick(value, *names)).strip().lower()
    if said not in (*_YES, *_NO):
        raise ParseError(f"{names[0]!r} must be true or false, got {said!r}")
    return said in _YES


def _folded(name: str) -> str:
    return re.sub(r"[\s_-]", "", name).lower()


def _strict(text: str) -> tuple[Any] | None:
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
    return None if _too_deep(value) else (value,)


def without_reasoning(text: str) -> str:
    """``text`` without the blocks in which reasoning models think aloud."""
    text = _REASONING.sub(" ", text)
    return _REASONING_END.sub(" ", text)  # some chat templates open the block in the prompt


def _scan(text: str, fences: list[tuple[int, int]]) -> Iterator[_Found]:
    run: list[_Found] = []
    at = 0
    while match := _START.search(text, at):
        start = match.start()
        value, end = _value_at(text, start)
        at = max(end, start + 1)
        if end == start or _too_deep(value):
            continue
        fenced = any(a <= start < b for a, b in fences)
        found = _Found(value, start, end, fenced)
        if run and not _BETWEEN.fullmatch(text, run[-1].end, start):
            yield from _joined(run)
            run = []
        run.append(found)
        yield found
    yield from _joined(run)


def _joined(run: list[_Found]) -> Iterator[_Found]:
    if len(run) > 1:
        yield _Found([f.value for f in run], run[0].start, run[-1].end, run[0].fenced)


def _value_at(text: str, start: int) -> tuple[Any, int]:
    """The value at ``start`` and where it ends; ends where it starts when there is none."""
    try:
        return _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        pass
    try:
        read = read_value(text, start)
    except UnreadableError:
        return None, start
    return read.value, read.end


def _too_deep(value: Any, left: int = MAX_DEPTH) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return left < 0 or any(_too_deep(item, left - 1) for item in inner)


def _clean(text: str, value: Any) -> Any:
    """``value`` without halves of surrogate pairs, which no file could store."""
    if not _LONE_SURROGATE.search(text):
        return value
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_clean(text, item) for item in value]
    if isinstance(value, dict):
        return {_clean(text, key): _clean(text, item) for key, item in value.items()}
    return value
