"""Vectors on disk by text: memory-mapped, incremental, resumable."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from rag_research.config.fingerprint import fingerprint
from rag_research.embed.base import Encoder, Role, Vectors
from rag_research.errors import ArtifactError
from rag_research.runtime.progress import progress

STAGE = "embeddings"
VERSION = 1
FIRST_CHUNK = 256
_LARGEST_CHUNK = 16_384
_SHORT_SECONDS = 4.0
_KEY_BYTES = 16


class EmbeddingStore:
    """The vectors of one encoder: ``<root>/embeddings/<encoder and role>/``.

    ``keys.bin`` holds 16 bytes of BLAKE2 for each text, ``vectors.f32`` its vector, in the
    same order; ``meta.json`` says whose they are. Both files only grow. Vectors are written
    and synced before their keys, chunk by chunk, so kill -9 loses at most one chunk, and a torn
    tail is cut off before the next write. Several processes may share a store: a file lock
    lets one encode while the others wait and then find the vectors.

    Per million passages at D = 384: 1.54 GB on disk for vectors, 16 MB for keys; in memory
    about 56 MB for looking keys up, plus one chunk. The vectors stay on disk when the asked
    texts lie in the order in which they were stored; otherwise they are gathered in memory.

    Args:
        root: the root of an artefact store.
        encoder: whose vectors these are.
    """

    def __init__(self, root: Path, encoder: Encoder) -> None:
        self.root = Path(root)
        self.encoder = encoder

    def vectors(
        self, texts: Sequence[str], role: Role = "passage", label: str = "encode texts"
    ) -> Vectors:
        """The vectors of ``texts``; only those not yet stored are encoded.

        Args:
            texts: N strings; repeats are encoded once.
            role: passages and queries are kept apart.
            label: names the progress bar.

        Returns:
            A read-only memory map where possible, else an array.

        Raises:
            ArtifactError: the store's files belong to another encoder or dimension.

        Shapes:
            [N] -> [N, D]
        """
        if not len(texts):
            return np.empty((0, self.encoder.dimension), dtype=np.float32)
        folder = self._folder(role)
        wanted = _keys(texts)
        rows = _find(_read_keys(folder, self._count(folder)), wanted)
        if (rows < 0).any():
            with FileLock(folder / ".lock"):
                self._cut_torn_tail(folder)
                rows = _find(_read_keys(folder, self._count(folder)), wanted)
                _, first = np.unique(wanted, return_index=True)
                missing = np.sort(first[rows[first] < 0])
                self._encode(folder, texts, wanted, missing, role, label)
            rows = _find(_read_keys(folder, self._count(folder)), wanted)
        shape = (self._count(folder), self.encoder.dimension)
        stored = np.memmap(folder / "vectors.f32", np.float32, mode="r", shape=shape)
        if np.array_equal(rows, np.arange(rows[0], rows[0] + len(rows))):
            return stored[rows[0] : rows[0] + len(rows)]
        gathered: Vectors = np.asarray(stored[rows])
        return gathered

    def _folder(self, role: Role) -> Path:
        """The folder of one role, created and checked."""
        mine = {"version": VERSION, "role": role, "identity": dict(self.encoder.identity)}
        mine["dimension"] = self.encoder.dimension
        folder = self.root / STAGE / fingerprint(VERSION, dict(self.encoder.identity), role)
        folder.mkdir(parents=True, exist_ok=True)
        meta = folder / "meta.json"
        if not meta.exists():
            with FileLock(folder / ".lock"):
                draft = folder / ".meta.json"
                draft.write_text(json.dumps(mine, indent=2, ensure_ascii=False), encoding="utf-8")
                draft.replace(meta)
        try:
            stored = json.loads(meta.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ArtifactError(
                f"{meta} is not readable JSON ({error}). Delete {folder} to encode again."
            ) from error
        for field, value in mine.items():
            if stored.get(field) != value:
                raise ArtifactError(
                    f"{folder} holds vectors of another encoder: its {field} is "
                    f"{stored.get(field)!r}, the present encoder's is {value!r}. Use the encoder "
                    "it was built with, or delete the folder to encode again."
                )
        return folder

    def _count(self, folder: Path) -> int:
        """Whole vectors with whole keys."""
        keys, vectors = folder / "keys.bin", folder / "vectors.f32"
        if not (keys.exists() and vectors.exists()):
            return 0
        width = 4 * self.encoder.dimension
        return min(keys.stat().st_size // _KEY_BYTES, vectors.stat().st_size // width)

    def _cut_torn_tail(self, folder: Path) -> None:
        count = self._count(folder)
        for name, width in (("keys.bin", _KEY_BYTES), ("vectors.f32", 4 * self.encoder.dimension)):
            path = folder / name
            if path.exists() and path.stat().st_size != count * width:
                os.truncate(path, count * width)

    def _encode(
        self,
        folder: Path,
        texts: Sequence[str],
        keys: NDArray[np.bytes_],
        missing: NDArray[np.intp],
        role: Role,
        label: str,
    ) -> None:
        with progress(label, len(missing)) as advance:
            start, size = 0, FIRST_CHUNK
            while start < len(missing):
                chunk = missing[start : start + size]
                began = time.monotonic()
                vectors = self.encoder.encode([texts[i] for i in chunk], role)
                expected = (len(chunk), self.encoder.dimension)
                if vectors.shape != expected:
                    raise ArtifactError(
                        f"The encoder {dict(self.encoder.identity)} gave vectors of shape "
                        f"{vectors.shape}, expected {expected}. Nothing of this chunk was stored."
                    )
                _append(folder / "vectors.f32", np.ascontiguousarray(vectors, np.float32).tobytes())
                _append(folder / "keys.bin", keys[chunk].tobytes())
                advance(len(chunk))
                start += len(chunk)
                if time.monotonic() - began < _SHORT_SECONDS:  # a fast device wants more at once
                    size = min(2 * size, _LARGEST_CHUNK)


def _append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _keys(texts: Sequence[str]) -> NDArray[np.bytes_]:
    hashes = (
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_KEY_BYTES).digest()
        for text in texts
    )
    return np.frombuffer(b"".join(hashes), dtype=f"S{_KEY_BYTES}")


def _read_keys(folder: Path, count: int) -> NDArray[np.bytes_]:
    if not count:
        return np.empty(0, dtype=f"S{_KEY_BYTES}")
    return np.fromfile(folder / "keys.bin", dtype=f"S{_KEY_BYTES}", count=count)


def _find(stored: NDArray[np.bytes_], wanted: NDArray[np.bytes_]) -> NDArray[np.intp]:
    """Row of each wanted key, -1 where it is not stored."""
    if not len(stored):
        return np.full(len(wanted), -1, dtype=np.intp)
    order = np.argsort(stored, kind="stable")
    place = np.searchsorted(stored, wanted, sorter=order)
    rows = order[np.minimum(place, len(stored) - 1)]
    return np.where(stored[rows] == wanted, rows, -1)
