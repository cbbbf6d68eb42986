"""The wording of generated articles and questions, read from ``templates.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two numbers of one relation are compared: ``pick`` is ``min`` or ``max``."""

    ask: tuple[str, ...]
    pick: str


@dataclass(frozen=True, slots=True)
class Relation:
    """One kind of fact, ``subject -> object``.

    Args:
        predicate: the triplet's predicate.
        sentences: ways to state it (``{O}``, ``{o}`` object, ``{They}`` pronoun); empty for the
            relation that the article's first sentence states.
        ask: ways to ask for the object of ``{x}``.
        phrase: noun phrases for the object of ``{x}``.
        inverse_phrase: noun phrases for the subject whose object is ``{x}``; only where a
            world has at most one.
        compare: how numbers of two subjects are compared.
    """

    predicate: str
    sentences: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    phrase: tuple[str, ...] = ()
    inverse_phrase: tuple[str, ...] = ()
    compare: Comparison | None = None


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of entity.

    Args:
        form: the name inside a sentence (``"the {n}"``).
        names: patterns of names over ``{root}``.
        openings: first sentences; each states one relation by its name.
        fillers: sentences without a fact of their own.
        facts: relations by name, the one of the openings first.
    """

    form: str
    names: tuple[str, ...]
    openings: tuple[str, ...]
    fillers: tuple[str, ...]
    facts: Mapping[str, Relation]


@cache
def kinds() -> Mapping[str, Kind]:
    """Every kind, by name."""
    return {name: _kind(values) for name, values in _read()["kinds"].items()}


@cache
def given_names() -> tuple[tuple[str, str], ...]:
    """Pairs of pronoun and given name."""
    named = _read()["given_names"]
    return tuple((pronoun, name) for pronoun in named for name in named[pronoun])


@cache
def _read() -> dict[str, dict[str, dict[str, list[str]]]]:
    text = files("rag_research.corpus.sample").joinpath("templates.json").read_text("utf-8")
    return dict(json.loads(text))


def _kind(values: Mapping[str, object]) -> Kind:
    facts = values["facts"]
    assert isinstance(facts, dict)
    return Kind(
        form=str(values["form"]),
        names=_strings(values["names"]),
        openings=_strings(values["openings"]),
        fillers=_strings(values["fillers"]),
        facts={name: _relation(relation) for name, relation in facts.items()},
    )


def _relation(values: Mapping[str, object]) -> Relation:
    compare = values.get("compare")
    lists = {
        key: _strings(values.get(key, []))
        for key in ("sentences", "ask", "phrase", "inverse_phrase")
    }
    comparison = None
    if isinstance(compare, dict):
        comparison = Comparison(_strings(compare["ask"]), str(compare["pick"]))
    return Relation(str(values["predicate"]), **lists, compare=comparison)


def _strings(value: object) -> tuple[str, ...]:
    assert isinstance(value, list)
    return tuple(map(str, value))
