"""Prompts are versioned markdown files, visible and overridable.

A prompt file looks like this::

    version: 1

    # system
    You answer questions.

    # user
    {{question}}

Sections ``# system``, ``# user`` and ``# assistant`` become chat messages in order (a user and
assistant pair before the last user section is a worked example). ``{{name}}`` is filled in.
A second line ``reply: 600`` in the prompt of a last step asks for a free answer of at most so
many tokens, which is then kept whole.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from rag_research.errors import ConfigError, did_you_mean
from rag_research.llm.base import Message

logger = logging.getLogger(__name__)

BUILT_IN = Path(__file__).parent
_SECTION = re.compile(r"^# (system|user|assistant)\s*$", re.MULTILINE)
_FIELD = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True)
class Prompt:
    """One prompt file.

    Args:
        name: path below the prompt folder without ``.md``: ``"t2rag/decompose"``.
        version: the number in its first line.
        messages: templates in order.
        reply_tokens: the number in its line ``reply: N``, where it has one.
    """

    name: str
    version: int
    messages: tuple[Message, ...]
    reply_tokens: int | None = None

    @property
    def label(self) -> str:
        """Name and version, as traces and results show it: ``"t2rag/decompose@1"``."""
        return f"{self.name}@{self.version}"

    @property
    def fingerprint(self) -> str:
        """Version and hash of the wording: two files of one version are told apart."""
        wording = "\x00".join(f"{m.role}\x00{m.content}" for m in self.messages)
        if self.reply_tokens is not None:
            wording += f"\x00reply\x00{self.reply_tokens}"
        return f"{self.version}-{hashlib.sha256(wording.encode()).hexdigest()[:8]}"

    @cached_property
    def fields(self) -> frozenset[str]:
        """Names that :meth:`render` needs."""
        return frozenset(n for m in self.messages for n in _FIELD.findall(m.content))

    def render(self, **values: str) -> tuple[Message, ...]:
        """Fill the template.

        Raises:
            ConfigError: a field is missing or a value is not used.
        """
        if set(values) != self.fields:
            raise ConfigError(
                f"Prompt {self.label} has the fields {sorted(self.fields)}, "
                f"got values for {sorted(values)}."
            )
        return tuple(
            Message(m.role, _FIELD.sub(lambda match: values[match[1]], m.content))
            for m in self.messages
        )


class PromptLibrary:
    """The prompt files of this package, with a folder of overrides before them.

    Args:
        overrides: a folder laid out like ``rag_research/prompts``; a file there replaces the
            built-in one of the same name.
    """

    def __init__(self, overrides: Path | str | None = None) -> None:
        self.folders = [Path(overrides)] if overrides else []
        self.folders.append(BUILT_IN)
        if not all(folder.is_dir() for folder in self.folders):
            raise ConfigError(f"prompts: {self.folders[0]} is not a folder.")
        if overrides:
            _tell_of_unknown(Path(overrides))
        self._loaded: dict[str, Prompt] = {}

    def __getitem__(self, name: str) -> Prompt:
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    def names(self) -> list[str]:
        """Every prompt there is."""
        return sorted({name for folder in self.folders for name in _names(folder)})

    def versions(self) -> Mapping[str, str]:
        """Fingerprints of the prompts used so far, by name; goes into result rows."""
        return {name: p.fingerprint for name, p in sorted(self._loaded.items())}

    def _load(self, name: str) -> Prompt:
        for folder in self.folders:
            path = folder / f"{name}.md"
            if path.is_file():
                return parse_prompt(name, _read(path), str(path))
        raise ConfigError(f"There is no prompt {name!r}.{did_you_mean(name, self.names())}")


def _names(folder: Path) -> list[str]:
    return [p.relative_to(folder).with_suffix("").as_posix() for p in folder.rglob("*.md")]


@cache
def _tell_of_unknown(folder: Path) -> None:
    """Warn once of overrides that replace nothing: most likely their name is misspelt."""
    known = _names(BUILT_IN)
    for name in sorted(set(_names(folder)) - set(known)):
        if near := did_you_mean(name, known):  # else a prompt of a system of the user's own
            logger.warning("prompts: %s.md replaces no built-in prompt.%s", folder / name, near)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")  # some editors begin with a byte order mark
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: byte {error.start + 1} is not UTF-8. Save the file as UTF-8."
        ) from error


def parse_prompt(name: str, text: str, where: str) -> Prompt:
    """Read one prompt file.

    Raises:
        ConfigError: no version line, no section, or the last section is not ``# user``.
    """
    version = re.match(r"version: (\d+)\s*\n(?:reply: ([1-9]\d*)[ \t]*\n)?", text)
    if not version:
        raise ConfigError(f"{where}: the first line must be 'version: NUMBER'.")
    pieces = _SECTION.split(text[version.end() :])
    messages = tuple(
        Message(role, content.strip())  # type: ignore[arg-type]
        for role, content in zip(pieces[1::2], pieces[2::2], strict=True)
    )
    if pieces[0].strip() or not messages or messages[-1].role != "user":
        raise ConfigError(
            f"{where}: expected sections '# system', '# user', '# assistant' with '# user' last."
        )
    return Prompt(name, int(version[1]), messages, int(version[2]) if version[2] else None)
