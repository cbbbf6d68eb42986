"""Text files that a reader sees whole, and text that every file can hold."""

from __future__ import annotations

import re
from pathlib import Path

_HALF = re.compile("[\ud800-\udfff]")


def write_text(path: Path, text: str) -> None:
    """Write a text file by one rename."""
    draft = path.with_name(f".{path.name}.draft")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def whole_characters(text: str) -> str:
    """``text`` with the replacement character for each half of one (a lone surrogate)."""
    return _HALF.sub("\ufffd", text)
