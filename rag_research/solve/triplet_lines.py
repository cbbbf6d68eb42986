"""How query triplets are written for a language model and read from its replies."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from rag_research.errors import ParseError
from rag_research.extract.triplets import clean_rows
from rag_research.llm.structured import pick
from rag_research.types import Triplet

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "triplets": {
            "type": "array",
            "items": {"type": "array", "items": {"type": "string"}, "minItems": 3, "maxItems": 3},
        }
    },
    "required": ["triplets"],
    "additionalProperties": False,
}

_LOOSE_VARIABLE = re.compile(r"(?!^)\W+")
_LOOSE_END = re.compile(r"\W+$")


def triplet_lines(triplets: Iterable[Triplet]) -> str:
    """One JSON array a line: the form the model is shown and asked for."""
    return "\n".join(json.dumps(list(t), ensure_ascii=False) for t in triplets)


def read_triplets(value: Any) -> tuple[Triplet, ...]:
    """Triplets in a decoded reply: a list of rows, or a mapping that holds one.

    A row is a list of three strings or a mapping with subject, predicate and object. A single
    row stands for a list of one.

    Raises:
        ParseError: the value has no list of rows, or none of its rows is a triplet.
    """
    if isinstance(value, Mapping):
        row = _as_row(value)
        value = [row] if row is not value else pick(value, "triplets", "triples", "facts")
    if isinstance(value, list) and len(value) == 3 and all(isinstance(v, str) for v in value):
        value = [value]
    if not isinstance(value, list):
        raise ParseError(f"expected a list of triplets, got {type(value).__name__}")
    rows = clean_rows(_as_row(row) for row in value)
    if value and not rows.triplets:
        raise ParseError("no row is a triplet of three non-empty strings")
    return tuple(Triplet(*map(_variable_name, triplet)) for triplet in rows.triplets)


def _variable_name(slot: str) -> str:
    """``?father-in-law`` and ``?release date`` as the grammar spells them, with underscores.

    Models write such names; read as literals they would pass for facts. Punctuation behind a
    name is no part of it: ``?d.`` is ``?d``.
    """
    if slot[:1] != "?" or not slot[1:2].isalpha():
        return slot
    return _LOOSE_VARIABLE.sub("_", _LOOSE_END.sub("", slot))


def _as_row(row: Any) -> Any:
    """A mapping's three slots as a list; anything else as it is."""
    try:
        return [
            pick(row, "subject", "head", "s"),
            pick(row, "predicate", "relation", "p", "r"),
            pick(row, "object", "tail", "o"),
        ]
    except ParseError:
        return row
