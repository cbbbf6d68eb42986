"""Vectors on disk by text: memory-mapped, incremental, resumable."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from rag_research.config.fingerprint import fingerprint
from rag_research.embed.base import Encoder, Role, Vectors
from rag_research.embed.keyed_files import (
    KEY_BYTES,
    LOCK,
    append,
    claim_folder,
    cut,
    find_rows,
    growing_chunks,
    in_stored_order,
    missing_rows,
    read_keys,
    refuse_reading,
    size_of,
    text_keys,
)
from rag_research.errors import ArtifactError

STAGE = "embeddings"
VERSION = 1
LARGEST_CHUNK = 16_384


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
        read_only: texts that are not stored are an error; nothing is encoded.
    """

    def __init__(self, root: Path, encoder: Encoder, *, read_only: bool = False) -> None:
        self.root = Path(root)
        self.encoder = encoder
        self.read_only = read_only

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
            ArtifactError: the store's files belong to another encoder or dimension; it is
                read-only and lacks a text.

        Shapes:
            [N] -> [N, D]
        """
        if not len(texts):
            return np.empty((0, self.encoder.dimension), dtype=np.float32)
        folder = self._folder(role)
        wanted = text_keys(texts)
        rows = find_rows(read_keys(folder, self._count(folder)), wanted)
        if (rows < 0).any():
            if self.read_only:
                refuse_reading(folder, int((rows < 0).sum()))
            with FileLock(folder / LOCK):
                self._cut_torn_tail(folder)
                missing = missing_rows(read_keys(folder, self._count(folder)), wanted)
                self._encode(folder, texts, wanted, missing, role, label)
            rows = find_rows(read_keys(folder, self._count(folder)), wanted)
        shape = (self._count(folder), self.encoder.dimension)
        stored = np.memmap(folder / "vectors.f32", np.float32, mode="r", shape=shape)
        if in_stored_order(rows):
            return stored[rows[0] : rows[0] + len(rows)]
        gathered: Vectors = np.asarray(stored[rows])
        return gathered

    def add(self, texts: Sequence[str], vectors: Vectors, role: Role = "passage") -> None:
        """Deposit vectors that were computed elsewhere with this encoder, in one write.

        Args:
            texts: N strings; those already stored keep their vectors.
            vectors: what the encoder gives for them.
            role: the role they were encoded in.

        Raises:
            ArtifactError: not one vector of the encoder's dimension for each text, or the
                store's files belong to another encoder.

        Shapes:
            [N], [N, D]
        """
        self._check_shape(vectors, len(texts))
        if not len(texts):
            return
        folder = self._folder(role)
        keys = text_keys(texts)
        with FileLock(folder / LOCK):
            self._cut_torn_tail(folder)
            missing = missing_rows(read_keys(folder, self._count(folder)), keys)
            self._write(folder, keys[missing], vectors[missing])

    def _folder(self, role: Role) -> Path:
        """The folder of one role, created and checked."""
        mine = {"version": VERSION, "role": role, "identity": dict(self.encoder.identity)}
        mine["dimension"] = self.encoder.dimension
        folder = self.root / STAGE / fingerprint(VERSION, dict(self.encoder.identity), role)
        claim_folder(folder, mine, self.read_only)
        return folder

    def _count(self, folder: Path) -> int:
        """Whole vectors with whole keys."""
        vectors = size_of(folder / "vectors.f32") // (4 * self.encoder.dimension)
        return min(size_of(folder / "keys.bin") // KEY_BYTES, vectors)

    def _cut_torn_tail(self, folder: Path) -> None:
        count = self._count(folder)
        cut(folder / "keys.bin", count * KEY_BYTES)
        cut(folder / "vectors.f32", count * 4 * self.encoder.dimension)

    def _check_shape(self, vectors: Vectors, texts: int) -> None:
        expected = (texts, self.encoder.dimension)
        if vectors.shape != expected:
            raise ArtifactError(
                f"The encoder {dict(self.encoder.identity)} gave vectors of shape "
                f"{vectors.shape}, expected {expected}. Nothing of this chunk was stored."
            )

    def _write(self, folder: Path, keys: NDArray[np.bytes_], vectors: Vectors) -> None:
        """Vectors first: a key on disk says that its vector is whole."""
        append(folder / "vectors.f32", np.ascontiguousarray(vectors, np.float32).tobytes())
        append(folder / "keys.bin", keys.tobytes())

    def _encode(
        self,
        folder: Path,
        texts: Sequence[str],
        keys: NDArray[np.bytes_],
        missing: NDArray[np.intp],
        role: Role,
        label: str,
    ) -> None:
        for chunk in growing_chunks(missing, LARGEST_CHUNK, label):
            vectors = self.encoder.encode([texts[i] for i in chunk], role)
            self._check_shape(vectors, len(chunk))
            self._write(folder, keys[chunk], vectors)
