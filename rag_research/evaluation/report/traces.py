"""Traces packed for a page: repeated texts stored once, questions in compressed blocks.

A page with a thousand questions holds tens of megabytes of prompts, most of them the same
worked examples. Texts that occur more than once go into a table; a block of questions is
decompressed by the browser when one of them is opened.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Line = Mapping[str, Any]
QUESTIONS_A_BLOCK = 20
_SHORTEST = 48  # characters of a text worth a place in the table
_MARK = "\u0001"  # begins a reference, and a text that itself begins with it


class Texts:
    """Texts that occur more than once, each with a number.

    A string of a packed value is a text's number after ``\\x01#``, or, should it begin with
    ``\\x01`` itself, that string after one more ``\\x01``.

    Args:
        values: all values that will be packed.
    """

    def __init__(self, values: Iterable[Any]) -> None:
        counts: Counter[str] = Counter()
        for value in values:
            counts.update(t for t in _strings(value) if len(t) >= _SHORTEST)
        self.table = [text for text, count in counts.items() if count > 1]
        self._number = {text: number for number, text in enumerate(self.table)}

    def pack(self, value: Any) -> Any:
        """``value`` with references in place of the texts of the table."""
        if isinstance(value, str):
            number = self._number.get(value)
            if number is not None:
                return f"{_MARK}#{number}"
            return _MARK + value if value.startswith(_MARK) else value
        if isinstance(value, Mapping):
            return {key: self.pack(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.pack(item) for item in value]
        return value


def read_traces(directory: Path) -> dict[str, list[dict[str, Any]]]:
    """The lines of ``traces.jsonl`` by question; nothing for a run without the file."""
    path = directory / "traces.jsonl"
    found: dict[str, list[dict[str, Any]]] = {}
    if not path.is_file():
        return found
    with path.open(encoding="utf-8") as file:
        for text in file:
            line = json.loads(text)
            found.setdefault(str(line.pop("question")), []).append(line)
    return found


def blocks(
    ids: Sequence[str],
    runs: Sequence[Mapping[str, Sequence[Line]]],
    passages: Callable[[Iterable[str]], Mapping[str, Any]],
    evidence: Mapping[str, Iterable[str]],
) -> tuple[list[str], list[dict[str, Any]]]:
    """Texts that repeat, and the blocks of questions.

    Args:
        ids: of the questions, in the order of the page.
        runs: traces of each run by question.
        passages: gives the passages behind ids, those it knows.
        evidence: more ids of passages to hold, by question.

    Returns:
        The table of texts; and a mapping a block: ``traces``, question -> a list with each
        run's lines, ``None`` where a run has none; ``passages``, id -> what is known of it.
    """
    texts = Texts(line for run in runs for lines in run.values() for line in lines)
    packed = []
    for start in range(0, len(ids), QUESTIONS_A_BLOCK):
        own = ids[start : start + QUESTIONS_A_BLOCK]
        lines = [line for id in own for run in runs for line in run.get(id, ())]
        named = {passage for id in own for passage in evidence.get(id, ())}
        named.update(passage for line in lines for passage in named_passages(line))
        packed.append(
            {
                "traces": {
                    id: [texts.pack(list(run[id])) if id in run else None for run in runs]
                    for id in own
                },
                "passages": passages(sorted(named)),
            }
        )
    return texts.table, packed


def named_passages(value: Any) -> Iterator[str]:
    """Ids of passages in what a step recorded: of hits, chunk nodes and spans.

    A chunk is called ``passage@start``, a chunk node ``chunk:`` and the chunk.
    """
    if isinstance(value, Mapping):
        if "id" in value and "score" in value:
            yield passage_id(str(value["id"]))
        for key, item in value.items():
            if key == "spans":
                yield from (str(span[0]) for span in item if isinstance(span, list) and span)
            elif key != "calls":
                yield from named_passages(item)
    elif isinstance(value, list):
        if value and isinstance(value[0], str) and value[0].startswith("chunk:"):
            yield passage_id(value[0])
        for item in value:
            yield from named_passages(item)


def passage_id(id: str) -> str:
    """The passage that a chunk or a chunk node is from."""
    return id.removeprefix("chunk:").partition("@")[0]


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
