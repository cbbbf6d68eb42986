"""One JSON-like value as small models write it: quotes, commas and ends may be wrong.

On top of JSON it reads single, curly and missing-escape quotes, Python's ``None``, ``True``,
``False`` and tuples, unquoted keys, trailing and missing commas, ``//`` comments, closing
brackets that were forgotten, and a text that was cut. Nothing is evaluated.

Of a cut value the finished part is kept: of a list its whole elements, of a mapping its whole
entries and, under the key that was being written, what is finished of a list or mapping.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

MAX_DEPTH = 20

_SPACE = re.compile(r"(?:\s|//[^\n]*)*")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")
_WORD = re.compile(r"[A-Za-z_]\w*")
_TAIL = re.compile(r"[-+.\w]*")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_WORDS = {"true": True, "false": False, "null": None, "none": None, "nan": None}
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_CLOSES = {"[": "]", "(": ")", "{": "}"}
# A quote ends a string only before one of these, so "He said "hi" to us" is one string.
_AFTER_STRING = re.compile(r"\s*(?:[,:\]})]|\Z)|[ \t]*\r?\n")
# Opening quote -> escaped characters, to be passed over, and the quotes that may close it.
_QUOTES = {
    opening: re.compile(rf"\\.|[{closing}]", re.DOTALL)
    for opening, closing in {
        '"': '"”',
        "'": "'’",
        "“": '”"',
        "‘": "’'",
        "„": '“”"',
        "«": "»",
    }.items()
}


class UnreadableError(ValueError):
    """The text at this place is no value."""


class CutError(UnreadableError):
    """The text ended before anything of the value was finished."""


@dataclass(frozen=True, slots=True)
class Read:
    """A value and where it ended; ``whole`` is false when the text was cut inside it."""

    value: Any
    end: int
    whole: bool = True


def read_value(text: str, start: int, depth: int = 0) -> Read:
    """Read the value that starts at ``start``.

    Args:
        text: anything.
        start: index of the first character of the value (white space may precede it).
        depth: containers around it.

    Raises:
        UnreadableError: there is no value, or it is nested deeper than ``MAX_DEPTH``.
        CutError: the text ended before anything of the value was finished.
    """
    start = _skip(text, start)
    opening = text[start : start + 1]
    if depth > MAX_DEPTH:
        raise UnreadableError("nested too deeply")
    if opening == "{":
        return _mapping(text, start, depth)
    if opening in ("[", "("):
        return _list(text, start, depth)
    if opening in _QUOTES:
        return _string(text, start)
    if number := _NUMBER.match(text, start):
        # "19" at the very end may be the start of "1998".
        return Read(finite_number(number[0]), number.end(), number.end() < len(text))
    word = _WORD.match(text, start)
    if word and word[0].lower() in _WORDS:
        return Read(_WORDS[word[0].lower()], word.end())
    if _TAIL.fullmatch(text, start):
        raise CutError("cut inside a number or word")
    raise UnreadableError(f"no value at character {start}")


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def finite_number(digits: str) -> int | float | None:
    """The number written as ``digits``; ``None`` when it is beyond what JSON files can hold."""
    try:
        return int(digits)
    except ValueError:
        number = float(digits)
        return number if math.isfinite(number) else None


def _separator(text: str, at: int) -> int:
    at = _skip(text, at)
    while text[at : at + 1] == ",":
        at = _skip(text, at + 1)
    return at


def _closed(text: str, at: int, opening: str) -> int | None:
    """Where a container ends that closes at ``at``; a foreign bracket closes it unread."""
    here = text[at : at + 1]
    if here == _CLOSES[opening]:
        return at + 1
    return at if here and here in "])}" else None


def _list(text: str, start: int, depth: int) -> Read:
    values: list[Any] = []
    at = _separator(text, start + 1)
    while at < len(text):
        if (end := _closed(text, at, text[start])) is not None:
            return Read(values, end)
        try:
            item = read_value(text, at, depth + 1)
        except CutError:
            break
        if not item.whole:
            break
        values.append(item.value)
        at = _separator(text, item.end)
    return _finished_part(values, len(text))


def _mapping(text: str, start: int, depth: int) -> Read:
    values: dict[str, Any] = {}
    at = _separator(text, start + 1)
    while at < len(text):
        if (end := _closed(text, at, "{")) is not None:
            return Read(values, end)
        try:
            key, at = _key(text, at)
            item = read_value(text, at, depth + 1)
        except CutError:
            break
        if item.whole or isinstance(item.value, (list, dict)):
            values[key] = item.value
        if not item.whole:
            break
        at = _separator(text, item.end)
    return _finished_part(values, len(text))


def _key(text: str, at: int) -> tuple[str, int]:
    if text[at] in _QUOTES:
        read = _string(text, at)
        if not read.whole:
            raise CutError("cut inside a key")
        key, end = str(read.value), read.end
    elif word := _WORD.match(text, at):
        key, end = word[0], word.end()
    else:
        raise UnreadableError(f"no key at character {at}")
    end = _skip(text, end)
    if end >= len(text):
        raise CutError("cut after a key")
    if text[end] != ":":
        raise UnreadableError(f"no colon at character {end}")
    return key, end + 1


def _finished_part(values: Any, end: int) -> Read:
    if not values:
        raise CutError("cut before anything was finished")
    return Read(values, end, whole=False)


def _string(text: str, start: int) -> Read:
    for match in _QUOTES[text[start]].finditer(text, start + 1):
        if match[0][0] != "\\" and _AFTER_STRING.match(text, match.end()):
            return Read(_unescape(text[start + 1 : match.start()]), match.end())
    return Read(_unescape(text[start + 1 :]), len(text), whole=False)


def _unescape(raw: str) -> str:
    def one(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        return _LETTERS.get(match[2], match[2] if match[2] in "\\/\"'" else match[0])

    return _ESCAPE.sub(one, raw)
