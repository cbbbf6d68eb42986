"""Content-addressed, atomic, resumable storage of what the stages build.

Two kinds of thing live under a store's root:

* an *artefact*, ``<stage>/<fingerprint>/``: a finished directory with a ``manifest.json``,
  published by one rename, so a reader never sees half of it. The fingerprint covers the stage
  version and every input, so a changed input is a different artefact, never a stale one;
* an *item log*, ``<stage>/items-<fingerprint>.jsonl``: one line for every finished item of a
  per-item stage (one passage extracted, one question answered), appended as it happens. After
  a kill the same command reads the log and does what is left; a growing corpus adds lines.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from rag_research.config.build import to_dict
from rag_research.config.fingerprint import canonical_json, fingerprint
from rag_research.errors import ArtifactError

MANIFEST = "manifest.json"
_SHOWN = 200  # characters of a value in a message
_BUILD_AGAIN = (
    "Use the settings the index was built with, or build again with: "
    "rag-research index CORPUS --out DIR"
)


@dataclass(frozen=True, slots=True)
class Artifact:
    """A finished directory.

    Args:
        path: the directory.
        manifest: ``stage``, ``version``, ``fingerprint``, ``inputs`` and ``counts``.
    """

    path: Path
    manifest: Mapping[str, Any]

    @property
    def counts(self) -> Mapping[str, Any]:
        """What the stage counted while building, e.g. ``{"passages": 200}``."""
        return self.manifest["counts"]  # type: ignore[no-any-return]


class ItemLog:
    """An append-only JSON lines file of finished items, keyed; survives kill -9.

    A line torn by a crash is dropped when the log is opened. Later lines win over earlier
    ones with the same key.

    Args:
        path: of the file.
        read_only: leave the file as it is; :meth:`add` is then an error.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self.read_only = read_only
        if not read_only:
            path.parent.mkdir(parents=True, exist_ok=True)
        self._items: dict[str, Any] = {}
        self._load()

    def _load(self) -> None:
        if not self.path.exists():
            return
        good = 0
        with self.path.open("rb") as file:
            for line in file:
                try:
                    item = json.loads(line)
                    if not line.endswith(b"\n"):
                        break
                    self._items[item["key"]] = item["value"]
                except (ValueError, KeyError, TypeError):
                    break
                good += len(line)
        if good < self.path.stat().st_size and not self.read_only:
            os.truncate(self.path, good)

    def __contains__(self, key: object) -> bool:
        return key in self._items

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __len__(self) -> int:
        return len(self._items)

    def add(self, key: str, value: Any) -> None:
        """Record one finished item; on disk when this returns.

        Raises:
            ArtifactError: the log is read-only.
        """
        if self.read_only:
            raise ArtifactError(
                f"{self.path} is opened read-only and lacks an item that is needed. {_BUILD_AGAIN}"
            )
        line = json.dumps({"key": key, "value": value}, ensure_ascii=False) + "\n"
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line)
        self._items[key] = value


class ArtifactStore:
    """A directory of artefacts and item logs.

    Args:
        root: created when missing.
        read_only: refuse to build; a missing artefact is then an error that says which input
            differs from what is stored.
    """

    def __init__(self, root: Path | str, *, read_only: bool = False) -> None:
        self.root = Path(root)
        self.read_only = read_only

    def ensure(
        self,
        stage: str,
        version: int,
        inputs: Mapping[str, Any],
        build: Callable[[Path], Mapping[str, Any]],
    ) -> Artifact:
        """The artefact for these inputs, built first if it is not there.

        Args:
            stage: directory name, also the kind in messages (``"dense-index"``).
            version: the stage's code version; raise it when the output changes.
            inputs: everything the result depends on: configurations (inert fields do not
                count), fingerprints of other artefacts, identities of models.
            build: writes files into the directory it is given and returns counts. It may be
                called again on the same directory after a crash.

        Raises:
            ArtifactError: the store is read-only and the artefact is not there.
        """
        digest = fingerprint(stage, version, inputs)
        target = self.root / stage / digest
        if (target / MANIFEST).exists():
            return _read(target)
        if self.read_only:
            raise ArtifactError(self._explain_missing(stage, version, inputs))
        with self._lock(stage, digest):
            if (target / MANIFEST).exists():
                return _read(target)
            draft = self.root / stage / f".draft-{digest}"
            draft.mkdir(parents=True, exist_ok=True)
            counts = build(draft)
            manifest = {
                "stage": stage,
                "version": version,
                "fingerprint": digest,
                "inputs": to_dict(inputs, with_inert=False),
                "counts": dict(counts),
            }
            text = json.dumps(manifest, indent=2, ensure_ascii=False, sort_keys=True)
            (draft / MANIFEST).write_text(text + "\n", encoding="utf-8")
            if target.exists():  # left without a manifest by something else
                shutil.rmtree(target)
            draft.rename(target)
        return _read(target)

    def items(self, stage: str, version: int, inputs: Mapping[str, Any]) -> ItemLog:
        """The item log of a per-item stage.

        Args:
            stage: directory name.
            version: the stage's code version.
            inputs: what each item's result depends on besides the item itself.

        Raises:
            ArtifactError: the store is read-only and has no such log.
        """
        path = self.root / stage / f"items-{fingerprint(stage, version, inputs)}.jsonl"
        if self.read_only and not path.exists():
            asked = canonical_json(to_dict(inputs, with_inert=False))
            raise ArtifactError(
                f"{self.root} holds no items of the stage {stage} for the present settings "
                f"({asked}). {_BUILD_AGAIN}"
            )
        return ItemLog(path, read_only=self.read_only)

    def manifests(self, stage: str) -> list[Mapping[str, Any]]:
        """The manifests of all finished artefacts of one stage."""
        return [_read(p.parent).manifest for p in sorted(self.root.glob(f"{stage}/*/{MANIFEST}"))]

    @contextmanager
    def _lock(self, stage: str, digest: str) -> Iterator[None]:
        (self.root / stage).mkdir(parents=True, exist_ok=True)
        with FileLock(self.root / stage / f".lock-{digest}"):
            yield

    def _explain_missing(self, stage: str, version: int, inputs: Mapping[str, Any]) -> str:
        wanted = to_dict({"version": version, **inputs}, with_inert=False)
        lines = [f"{self.root} holds no {stage} artefact for the present settings."]
        for manifest in self.manifests(stage):
            found = {"version": manifest["version"], **manifest["inputs"]}
            for name, got, asked in differences(found, wanted):
                lines.append(f"  {name}: built with {_shown(got)}, asked for {_shown(asked)}")
        if len(lines) == 1:
            lines.append("  Nothing of this stage was ever built there.")
        lines.append(_BUILD_AGAIN)
        return "\n".join(lines)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def differences(found: Any, wanted: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Dotted names of what differs between two plain mappings, with both values."""
    if isinstance(found, Mapping) and isinstance(wanted, Mapping):
        for key in sorted(set(found) | set(wanted)):
            name = f"{path}.{key}" if path else key
            yield from differences(found.get(key), wanted.get(key), name)
    elif found != wanted:
        yield path, found, wanted


def _read(path: Path) -> Artifact:
    try:
        manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ArtifactError(
            f"{path / MANIFEST} is not readable JSON ({error}). Delete {path} and build again."
        ) from error
    return Artifact(path, manifest)
