"""What a sentence-transformers folder says about pooling and prefixes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rag_research.errors import ConfigError

Pooling = Literal["mean", "cls"]

_COVERED = ("Transformer", "Pooling", "Normalize")


@dataclass(frozen=True, slots=True)
class FolderSettings:
    """Settings found in a model folder; a plain transformers folder gives the defaults."""

    pooling: Pooling = "mean"
    query_prefix: str = ""
    passage_prefix: str = ""


def read_folder_settings(folder: Path) -> FolderSettings:
    """Read ``modules.json``, the pooling module's ``config.json`` and the named prompts.

    Args:
        folder: a model folder.

    Raises:
        ConfigError: the folder asks for a module or a pooling that this encoder lacks.
    """
    pooling: Pooling = "mean"
    modules = _read(folder / "modules.json") or []
    for module in modules:
        kind = str(module.get("type", "")).rpartition(".")[2]
        if kind not in _COVERED:
            raise ConfigError(
                f"{folder / 'modules.json'} asks for the module {kind!r}; this encoder covers "
                f"{', '.join(_COVERED)}. Choose another model."
            )
        if kind == "Pooling":
            pooling = _pooling(folder / str(module.get("path", "")) / "config.json")
    prompts = (_read(folder / "config_sentence_transformers.json") or {}).get("prompts") or {}
    passage = prompts.get("passage") or prompts.get("document") or ""
    return FolderSettings(pooling, str(prompts.get("query") or ""), str(passage))


def _pooling(path: Path) -> Pooling:
    settings = _read(path) or {}
    mode = settings.get("pooling_mode")
    chosen = {mode} if isinstance(mode, str) else set(mode or ())
    chosen |= {
        key.removeprefix("pooling_mode_").removesuffix("_token").removesuffix("_tokens")
        for key, value in settings.items()
        if key.startswith("pooling_mode_") and value is True
    }
    if chosen == {"cls"}:
        return "cls"
    if chosen <= {"mean"}:
        return "mean"
    raise ConfigError(
        f"{path} asks for {', '.join(sorted(chosen))} pooling; this encoder covers mean and cls. "
        "Choose another model, or set encoder.pooling."
    )


def _read(path: Path) -> Any:
    if not path.is_file():
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ConfigError(
            f"{path} is not readable JSON ({error}). Fetch the model again."
        ) from error
