"""The placeholder grammar of query triplets.

    slot := literal | variable

A slot is a variable iff the whole slot reads ``?name`` or ``?`` (name: letters, digits,
underscore). Variables are counted by slot, never by character, so a film called
``"Whatever Happened to Baby Jane?"`` is a literal. A bare ``?`` is a fresh variable each time.

Source: T2RAG (arXiv 2508.02435), section on query triplets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from rag_research.text.normalise import normalise_answer
from rag_research.types import Triplet

ANONYMOUS = "?"
_VARIABLE = re.compile(r"\?\w*")


def is_variable(slot: str) -> bool:
    """Whether the whole slot is a variable."""
    return _VARIABLE.fullmatch(slot.strip()) is not None


def count_variables(triplet: Triplet) -> int:
    """Number of slots that are variables, 0 to 3."""
    return sum(is_variable(slot) for slot in triplet)


def known_text(triplet: Triplet) -> str:
    """The known slots joined by a space: the retrieval query of a searchable triplet."""
    return " ".join(slot for slot in triplet if not is_variable(slot))


def known_ends(triplet: Triplet) -> list[str]:
    """Subject and object, those of them that are no variable."""
    return [end for end in (triplet.subject, triplet.object) if not is_variable(end)]


def substitute(triplet: Triplet, bindings: Mapping[str, str]) -> Triplet:
    """Replace bound variables by their values; a bare ``?`` is never bound."""
    named = {name: value for name, value in bindings.items() if name != ANONYMOUS}
    return Triplet(*(named.get(slot, slot) if is_variable(slot) else slot for slot in triplet))


def match(pattern: Triplet, fact: Triplet) -> dict[str, str] | None:
    """Bindings under which ``pattern`` becomes ``fact``, or ``None``.

    Literals must agree after answer normalisation. The predicate alone may be worded
    differently, as models reword it, unless it is all that is known. Where the fact still has
    a variable there is no binding for that slot.

    Returns:
        Named variables of the pattern with their values; empty when only a bare ``?`` was
        filled.
    """
    bindings: dict[str, str] = {}
    only_predicate = is_variable(pattern.subject) and is_variable(pattern.object)
    for position, (wanted, got) in enumerate(zip(pattern, fact, strict=True)):
        if is_variable(wanted):
            if is_variable(got) or wanted == ANONYMOUS:
                continue
            if bindings.setdefault(wanted, got) != got:
                return None
        elif (position != 1 or only_predicate) and not same_text(wanted, got):
            return None
    return bindings


def same_text(a: str, b: str) -> bool:
    """Equal after answer normalisation; texts of punctuation alone are compared as they are."""
    return a == b or (normalise_answer(a) == normalise_answer(b) != "")


def unique(triplets: Iterable[Triplet]) -> tuple[Triplet, ...]:
    """Without repeats, first occurrence kept."""
    return tuple(dict.fromkeys(triplets))
