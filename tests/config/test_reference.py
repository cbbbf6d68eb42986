"""The reference of settings: what is read off a configuration class, and the committed page."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from rag_research.config.build import inert, slot
from rag_research.config.reference import arguments, settings, summary, type_words, yaml_value
from rag_research.registry import SELECTORS, SYSTEMS

DOCS = Path(__file__).resolve().parents[2] / "docs"


@dataclass(frozen=True, slots=True)
class Inner:
    """Args:
    depth, width: of ``None``
        or more.
    """

    depth: int = 2
    width: float | None = None


@dataclass(frozen=True, slots=True)
class Base:
    """Settings of :class:`~somewhere.Thing`.

    Args:
        folder: where it is.
        mode: overridden below.
    """

    folder: str
    mode: Literal["a", "b"] = "a"


@dataclass(frozen=True, slots=True)
class Derived(Base):
    """More settings.

    Args:
        mode: ``a`` | ``b``; see: nothing.
        inner: nested.
        kept: a slot.
        quick: changes nothing.

    Raises:
        ValueError: never.
    """

    mode: Literal["a", "b"] = "b"
    inner: Inner = field(default_factory=Inner)
    kept: Any = slot(SELECTORS, "top_energy")
    quick: bool = inert(True)
    words: tuple[str, ...] = ("x", "y")


def test_rows_of_a_class_its_bases_and_nested_classes() -> None:
    rows = {row.path: row for row in settings(Derived, "part.")}
    assert [row.removeprefix("part.") for row in rows] == [
        "folder", "mode", "inner.depth", "inner.width", "kept", "quick", "words",
    ]  # fmt: skip
    folder, mode, kept = (rows[f"part.{name}"] for name in ("folder", "mode", "kept"))
    assert (folder.default, folder.meaning) == ("required", "where it is.")
    assert (mode.type, mode.default) == ("`a`, `b`", "`b`")
    assert mode.meaning == r"`a` \| `b`; see: nothing."
    assert (kept.type, kept.default, kept.registry) == ("selector", "`top_energy`", SELECTORS)
    assert rows["part.inner.depth"].meaning == "of `null` or more."
    assert rows["part.inner.width"].meaning == rows["part.inner.depth"].meaning
    assert (rows["part.inner.width"].type, rows["part.inner.width"].default) == (
        "number or `null`", "`null`",
    )  # fmt: skip
    assert [path for path, row in rows.items() if row.inert] == ["part.quick"]
    assert rows["part.words"].meaning == ""


def test_docstrings() -> None:
    assert summary(Base) == "Settings of `Thing`."
    assert summary(Inner) == ""
    assert arguments("Nothing to set.") == {}
    assert summary(SYSTEMS.get("tog3")).startswith("ToG-3: Think-on-Graph 3.0, a loop of agents")


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (bool, "true or false"),
        (tuple[int, ...], "list of integer"),
        (Mapping[str, Any], "mapping"),
        (Literal["x"] | None, "`x` or `null`"),
        (Inner | None, "settings or `null`"),
    ],
)
def test_types_in_words(hint: Any, words: str) -> None:
    assert type_words(hint) == words


def test_defaults_as_yaml() -> None:
    values = ((1, 2.5), None, False, "", {"a": ()})
    assert [yaml_value(v) for v in values] == ["[1, 2.5]", "null", "false", '""', "{a: []}"]


@pytest.fixture(scope="module")
def page() -> str:
    """What the program writes."""
    spec = importlib.util.spec_from_file_location("make_reference", DOCS / "make_reference.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return str(module.reference())


def test_the_committed_page_is_what_the_program_writes(page: str) -> None:
    same = page == (DOCS / "reference.md").read_text(encoding="utf-8")
    assert same, "settings have changed: run python docs/make_reference.py"


def test_every_setting_has_a_meaning(page: str) -> None:
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert len(rows) > 250
    assert [row for row in rows if row.endswith("|  |")] == []
