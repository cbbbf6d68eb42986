"""Configuration classes as tables: every setting with type, default and meaning.

What is printed is read from the code: fields, defaults and ``inert`` from the dataclasses, the
meaning from the ``Args`` section of their docstrings. ``docs/make_reference.py`` puts the tables
together.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin

from rag_research.registry import Registry

_PLAIN = {bool: "true or false", int: "integer", float: "number", str: "text", Any: "any"}
_ENTRY = re.compile(r"(?P<indent> *)(?P<names>\w+(?:, \w+)*): ?(?P<text>.*)")
_ROLE = re.compile(r":\w+:`~?(?:[\w.]+\.)?(\w+)`")
_NO_DEFAULT = "required"
_ELSEWHERE = "See the module's docstring."


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the reference.

    Args:
        path: dotted, below the class it was read from.
        type: accepted values, in markdown.
        default: as YAML, in markdown, or ``required``.
        inert: it never changes results, and the fingerprint leaves it out.
        meaning: from the docstring, in markdown; empty when there is none.
        registry: of a slot: what may stand here.
    """

    path: str
    type: str
    default: str
    inert: bool
    meaning: str
    registry: Registry[Any] | None = None


def settings(cls: type[Any], prefix: str = "") -> Iterator[Setting]:
    """The settings of a configuration class, those of nested classes with dotted paths.

    Args:
        cls: a configuration dataclass.
        prefix: put before each path.
    """
    hints, meanings = typing.get_type_hints(cls), described(cls)
    for field in dataclasses.fields(cls):
        path, hint = prefix + field.name, hints[field.name]
        if dataclasses.is_dataclass(hint):
            yield from settings(typing.cast(type, hint), f"{path}.")
            continue
        registry = field.metadata.get("registry")
        yield Setting(
            path,
            registry.kind if registry is not None else type_words(hint),
            _default(field),
            bool(field.metadata.get("inert")),
            meanings.get(field.name, ""),
            registry,
        )
        for option in get_args(hint):  # settings that may be null as a whole
            if dataclasses.is_dataclass(option):
                yield from settings(typing.cast(type, option), f"{path}.")


def described(cls: type[Any]) -> dict[str, str]:
    """Meaning of each setting, from the ``Args`` sections of ``cls`` and of its bases."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        found |= arguments(base.__doc__ or "")
    return found


def arguments(docstring: str) -> dict[str, str]:
    """The entries of the ``Args`` section of a Google-style docstring, as markdown."""
    lines = inspect.cleandoc(docstring).splitlines()
    if "Args:" not in lines:
        return {}
    found: dict[str, list[str]] = {}
    names: list[str] = []
    outer: str | None = None
    for line in lines[lines.index("Args:") + 1 :]:
        if not line.strip():
            break
        entry = _ENTRY.fullmatch(line)
        if entry and (outer is None or entry["indent"] == outer):
            outer, names, line = entry["indent"], entry["names"].split(", "), entry["text"]
            found |= {name: [] for name in names}
        for name in names:
            found[name].append(line.strip())
    return {name: markdown(" ".join(filter(None, text))) for name, text in found.items()}


def summary(documented: Any) -> str:
    """The first paragraph of a docstring as markdown; empty when it only lists arguments.

    A class that refers to its module's docstring has the first paragraph of that.
    """
    text = documented.__doc__ or ""
    if text.strip() == _ELSEWHERE:
        text = sys.modules[documented.__module__].__doc__ or ""
    first = inspect.cleandoc(text).partition("\n\n")[0]
    return "" if first.startswith("Args:") else markdown(" ".join(first.split()))


def markdown(text: str) -> str:
    """Docstring markup as markdown, fit for a cell of a table; ``None`` as YAML writes it."""
    plain = _ROLE.sub(r"`\1`", text).replace("``", "`")
    return plain.replace("`None`", "`null`").replace("|", "\\|")


def type_words(hint: Any) -> str:
    """A type as people say it: ``int | None`` is "integer or `null`"."""
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Literal:
        return ", ".join(f"`{option}`" for option in inside)
    if origin in (Union, types.UnionType):
        options = [type_words(option) for option in inside if option is not type(None)]
        return " or ".join([*options, *(["`null`"] if type(None) in inside else [])])
    if origin is tuple:
        return f"list of {type_words(inside[0])}"
    if origin is not None and issubclass(origin, Mapping):
        return "mapping"
    return "settings" if dataclasses.is_dataclass(hint) else getattr(hint, "__name__", str(hint))


def yaml_value(value: Any) -> str:
    """A default as it would be written in YAML."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(yaml_value, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{k}: {yaml_value(v)}' for k, v in value.items())}}}"
    if dataclasses.is_dataclass(value):
        return str(getattr(value, "name", "settings"))
    return str(value) or '""'


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default is not dataclasses.MISSING:
        return f"`{yaml_value(field.default)}`"
    if field.default_factory is not dataclasses.MISSING:
        return f"`{yaml_value(field.default_factory())}`"
    return _NO_DEFAULT
