"""Overlapping pieces of long texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

Offsets = Callable[[str], Sequence[tuple[int, int]]]

# Scripts written without spaces: each character counts as a word.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
UNSPACED += "\U00020000-\U0003ffff"
WORD = re.compile(f"[{UNSPACED}]|[^\\s{UNSPACED}]+")


def chunk(
    text: str,
    size: int,
    overlap: int,
    unit: Literal["words", "characters"] | Offsets = "words",
) -> list[tuple[int, int]]:
    """Cut ``text`` into windows of ``size`` units, each sharing ``overlap`` with the one before.

    Window ``i`` holds units ``[i * (size - overlap), i * (size - overlap) + size)``; the last
    one may be shorter. Together the windows cover every character, white space included; with
    ``overlap == 0`` they tile the text.

    Args:
        text: what to cut.
        size: units in a window. T2RAG takes 1,200 tokens, ThreadRAG 1,200 characters.
        overlap: units shared by neighbours; less than ``size``. T2RAG 100, ThreadRAG 150.
        unit: ``"words"`` (in Chinese, Japanese, Thai and other scripts without spaces each
            character is one), ``"characters"`` (code points), or a function that gives the
            character offsets of tokens, as :func:`token_offsets` makes.

    Returns:
        ``(start, end)`` character positions in order; empty for a text without any unit.

    Raises:
        ValueError: ``size`` or ``overlap`` out of range.
    """
    if size < 1 or not 0 <= overlap < size:
        raise ValueError(f"expected 0 <= overlap < size, got size {size} and overlap {overlap}.")
    starts = _starts(text, unit)
    if not starts:
        return []
    starts[0] = 0
    cuts = [*starts, len(text)]
    windows = []
    first = 0
    while True:
        last = min(first + size, len(starts))
        if cuts[first] < cuts[last]:  # several tokens may stand for one character
            windows.append((cuts[first], cuts[last]))
        if last == len(starts):
            return windows
        first += size - overlap


def token_offsets(tokenizer: Any) -> Offsets:
    """The ``unit`` that counts tokens of a fast Hugging Face tokenizer, without special ones."""

    def offsets(text: str) -> Sequence[tuple[int, int]]:
        encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        return [(int(start), int(end)) for start, end in encoded["offset_mapping"]]

    return offsets


def _starts(text: str, unit: Literal["words", "characters"] | Offsets) -> list[int]:
    if unit == "characters":
        return list(range(len(text)))
    if unit == "words":
        return [match.start() for match in WORD.finditer(text)]
    if callable(unit):
        return [start for start, _ in unit(text)]
    raise ValueError(f"expected the unit 'words', 'characters' or a function, got {unit!r}.")
