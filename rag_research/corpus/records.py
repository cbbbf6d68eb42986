"""Rows of JSON lines, JSON arrays and TSV files, with errors that name file and line."""

from __future__ import annotations

import csv
import gzip
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_research.errors import DataError, did_you_mean
from rag_research.runtime.text_files import whole_characters
from rag_research.types import Triplet

SHOWN_CHARACTERS = 60
_ESCAPED_HALF = re.compile(r"\\u[dD][89a-fA-F]")


@dataclass(frozen=True, slots=True)
class Row:
    """One mapping read from a file.

    Args:
        values: the fields.
        where: the position as people read it (``"corpus.jsonl, line 3"``).
    """

    values: Mapping[str, Any]
    where: str

    def require(self, key: str) -> Any:
        """The field ``key``.

        Raises:
            DataError: there is no such field; close names are suggested.
        """
        if key not in self.values:
            raise DataError(
                f"{self.where}: the field {key!r} is missing.{did_you_mean(key, self.values)} "
                f"Got: {', '.join(map(str, self.values)) or 'no fields'}."
            )
        return self.values[key]

    def text(self, key: str, default: str | None = None) -> str:
        """The field ``key`` as a string; integers, as ids often are, become strings.

        Args:
            key: the field.
            default: what an absent or null field means; without it the field is required.
        """
        if default is not None and self.values.get(key) is None:
            return default
        return self._string(self.require(key), key)

    def texts(self, key: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """The field ``key`` as strings; a single string or integer is a list of one."""
        if default is not None and self.values.get(key) is None:
            return default
        value = self.require(key)
        items = value if isinstance(value, list) else [value]
        return tuple(self._string(item, key) for item in items)

    def items(self, key: str) -> list[Any]:
        """The field ``key`` as a list."""
        value = self.require(key)
        if not isinstance(value, list):
            raise self.wrong(key, value, "a list")
        return value

    def triplets(self, key: str) -> tuple[Triplet, ...]:
        """The field ``key`` as triplets; an absent or null field means none."""
        if self.values.get(key) is None:
            return ()
        found = []
        for item in self.items(key):
            slots = [str(slot).strip() for slot in item] if isinstance(item, list) else []
            if len(slots) != 3 or not all(slots):
                raise self.wrong(key, item, "[subject, predicate, object], none of them empty,")
            found.append(Triplet(*slots))
        return tuple(found)

    def wrong(self, key: str, got: Any, expected: str) -> DataError:
        """The error for a field that has another form than ``expected``."""
        shown = json.dumps(got, ensure_ascii=False, default=str)[:SHOWN_CHARACTERS]
        return DataError(f"{self.where}: expected {expected} in {key!r}, got {shown}.")

    def _string(self, value: Any, key: str) -> str:
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str):
            raise self.wrong(key, value, "text")
        return value


def existing(path: Path, what: str) -> Path:
    """``path``, when something is there.

    Raises:
        DataError: nothing is there; names the nearest folder that exists and its contents.
    """
    path = path.expanduser()
    if path.exists():
        return path
    parent = next(p for p in path.absolute().parents if p.exists())
    names = sorted(p.name for p in parent.iterdir()) if parent.is_dir() else []
    raise DataError(
        f"There is no {what} at {path}.{did_you_mean(path.name, names)} "
        f"{parent} holds: {', '.join(names[:12]) or 'nothing'}{', ...' if len(names) > 12 else ''}."
    )


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Line numbers from 1 and the non-blank lines of a UTF-8 file, plain or gzip.

    A byte order mark and carriage returns before line ends are dropped.

    Raises:
        DataError: a line that is not UTF-8, or a damaged gzip file.
    """
    number = 0
    try:
        with gzip.open(path) if _is_gzip(path) else path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                if line.strip():
                    yield number, line
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}, line {number}: byte {error.start + 1} is not UTF-8. Save the file as UTF-8."
        ) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(
            f"{path}, line {number + 1}: the gzip file is damaged or cut off here ({error}). "
            "Copy or download it again."
        ) from error


def json_rows(path: Path) -> Iterator[Row]:
    """Rows of JSON lines or of one JSON array, whichever ``path`` holds, plain or gzip.

    Half a character (a lone surrogate, which JSON can spell) becomes the replacement character:
    no file could hold it, and no server takes it.

    Raises:
        DataError: names file and line of what is not JSON or not a mapping.
    """
    numbered = lines(path)
    first = next(numbered, None)
    if first is None:
        return
    if first[1].lstrip().startswith("["):
        yield from _array_rows(path)
        return
    yield _mapping(*_parse(path, *first))
    for number, line in numbered:
        yield _mapping(*_parse(path, number, line))


def tsv_rows(path: Path) -> Iterator[Row]:
    """Rows of a tab-separated file whose first line names the columns.

    Raises:
        DataError: a line with more or fewer cells than the header.
    """
    numbers: list[int] = []

    def numbered() -> Iterator[str]:
        for number, line in lines(path):
            numbers.append(number)
            yield line + "\n"

    reader = csv.reader(numbered(), delimiter="\t")
    header = next(reader, [])
    for cells in reader:
        where = f"{path}, line {numbers[-1]}"
        if len(cells) != len(header):
            raise DataError(
                f"{where}: expected {len(header)} tab-separated cells "
                f"({', '.join(header)}), got {len(cells)}."
            )
        yield Row(dict(zip(header, cells, strict=True)), where)


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _parse(path: Path, number: int, line: str) -> tuple[Any, str]:
    where = f"{path}, line {number}"
    try:
        return _whole(json.loads(line), line), where
    except json.JSONDecodeError as error:
        raise DataError(
            f"{where}: not JSON at column {error.colno} ({error.msg}): "
            f"{line[:SHOWN_CHARACTERS]!r}. Correct or remove the line."
        ) from error
    except ValueError as error:  # Python reads no integer of more than 4300 digits
        raise DataError(
            f"{where}: cannot be read ({error}). Correct or remove the line."
        ) from error


def _array_rows(path: Path) -> Iterator[Row]:
    numbered = list(lines(path))
    text = "\n".join(line for _, line in numbered)
    try:
        values = _whole(json.loads(text), text)
    except json.JSONDecodeError as error:
        number, line = numbered[error.lineno - 1]
        raise DataError(
            f"{path}, line {number}: not JSON at column {error.colno} ({error.msg}): "
            f"{line[max(error.colno - 30, 0) :][:SHOWN_CHARACTERS]!r}. Correct the file."
        ) from error
    except ValueError as error:
        raise DataError(f"{path}: cannot be read ({error}). Correct the file.") from error
    for position, value in enumerate(values, 1):
        yield _mapping(value, f"{path}, item {position}")


def _whole(value: Any, text: str) -> Any:
    """``value``, which was read from ``text``, without halves of characters."""
    return _mended(value) if _ESCAPED_HALF.search(text) else value


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return whole_characters(value)
    if isinstance(value, list):
        return [_mended(item) for item in value]
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}
    return value


def _mapping(value: Any, where: str) -> Row:
    if not isinstance(value, dict):
        raise DataError(
            f"{where}: expected a JSON object with named fields, got "
            f"{json.dumps(value, ensure_ascii=False)[:SHOWN_CHARACTERS]}."
        )
    return Row(value, where)
