"""Where released networks lie: ``checkpoints/NAME.safetensors`` with a card beside."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rag_research.config.build import to_dict
from rag_research.errors import ArtifactError, ModelNotFoundError, did_you_mean
from rag_research.runtime.carriers import sha256_of

_NAMED = {"path_selector": "selector", "checkpoint": "boundary"}
_PACKAGE = Path(__file__).resolve().parents[1]


def find_checkpoint(name: str, kind: str) -> Path:
    """The file of a released network, or ``name`` itself when it is a path.

    Args:
        name: of a released one (``boundary-light``), or the path of a ``.safetensors`` file.
        kind: ``boundary`` or ``selector``: how the names of its kind start, and the script in
            ``train/`` that makes one.

    Raises:
        ModelNotFoundError: there is none; names the released ones.
    """
    given = Path(name).expanduser()
    if given.suffix == ".safetensors" and given.is_file():
        return given
    folders = [_PACKAGE / "checkpoints", _PACKAGE.parent / "checkpoints"]
    for folder in folders:
        if (folder / f"{name}.safetensors").is_file():
            return folder / f"{name}.safetensors"
    known = sorted({p.stem for folder in folders for p in folder.glob(f"{kind}-*.safetensors")})
    raise ModelNotFoundError(
        f"There is no {kind} network {name!r}.{did_you_mean(name, known)} Released: "
        f"{', '.join(known) or 'none'}. Give one of these, the path of a .safetensors file, or "
        f"train one with train/{kind}.py."
    )


def checkpoint_hashes(settings: Mapping[str, Any]) -> dict[str, str]:
    """SHA-256 of the networks that settings name, at any depth: a file may have been replaced.

    Args:
        settings: of a system, as plain values.
    """
    found: dict[str, str] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping):
            found |= checkpoint_hashes(value)
        elif key in _NAMED and isinstance(value, str):
            try:
                found[value] = sha256_of(find_checkpoint(value, _NAMED[key]))
            except ModelNotFoundError:
                continue  # whoever needs it says so
    return found


def write_card(path: Path, card: Mapping[str, Any]) -> None:
    """Write the card beside a network's file."""
    text = json.dumps(to_dict(card), indent=2, ensure_ascii=False)
    path.with_suffix(".json").write_text(text + "\n", encoding="utf-8")


def check_features(path: Path, card: Mapping[str, Any], version: int, kind: str) -> None:
    """Refuse a network that reads other features than this package makes.

    Args:
        path: of the network.
        card: beside it.
        version: of the features this package makes.
        kind: as for :func:`find_checkpoint`.

    Raises:
        ArtifactError: another version.
    """
    if card["feature_version"] != version:
        raise ArtifactError(
            f"{path} reads features of version {card['feature_version']}, this package makes "
            f"version {version}. Train it again with train/{kind}.py."
        )


def read_card(path: Path) -> Mapping[str, Any]:
    """The card beside a network's file.

    Raises:
        ArtifactError: there is none, or it is not readable.
    """
    card = path.with_suffix(".json")
    try:
        found: Mapping[str, Any] = json.loads(card.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ArtifactError(
            f"{path.name} needs its card {card.name} beside it, and that is not readable "
            f"({error}). Copy both files, or train the network again."
        ) from error
    return found
