"""The files of a token store: rows of sentences and tokens, and where each text's rows end."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rag_research.embed.keyed_files import (
    KEY_BYTES,
    append,
    cut,
    find_rows,
    in_stored_order,
    read_keys,
    size_of,
)
from rag_research.embed.token_reading import Reading, starts, stretches

_END_BYTES = 16
_RANGE_BYTES = 8


class TokenRows(NamedTuple):
    """The stored rows of N texts; see ``TokenTables`` for shapes."""

    sentence_start: NDArray[np.int64]
    sentence_offsets: NDArray[np.int32]
    sentence_vectors: NDArray[np.float16]
    token_start: NDArray[np.int64]
    tokens: NDArray[np.int8]


class TokenFiles:
    """``sentences.f16``, ``sentences.i32``, ``tokens.i8``, ``ends.i64``, ``keys.bin``.

    Args:
        folder: exists already.
        width: D, of a sentence vector.
        token_width: d, of a compressed token.
    """

    def __init__(self, folder: Path, width: int, token_width: int) -> None:
        self.folder = folder
        self.width = width
        self.token_width = token_width

    def count(self) -> int:
        """Texts whose key, ends and rows are all whole."""
        ends = self._ends()
        ranges = size_of(self.folder / "sentences.i32") // _RANGE_BYTES
        vectors = size_of(self.folder / "sentences.f16") // (2 * self.width)
        tokens = size_of(self.folder / "tokens.i8") // self.token_width
        whole = (ends[:, 0] <= min(ranges, vectors)) & (ends[:, 1] <= tokens)
        return int(whole.sum())  # ends never fall, so the whole texts come first

    def rows(self, keys: NDArray[np.bytes_]) -> NDArray[np.intp]:
        """Where each wanted text is stored, -1 where it is not."""
        return find_rows(read_keys(self.folder, self.count()), keys)

    def cut_torn_tail(self) -> None:
        """Drop what a crash left half written; the caller holds the lock."""
        count = self.count()
        sentences, tokens = self._ends()[count - 1].tolist() if count else (0, 0)
        cut(self.folder / "keys.bin", count * KEY_BYTES)
        cut(self.folder / "ends.i64", count * _END_BYTES)
        cut(self.folder / "sentences.i32", sentences * _RANGE_BYTES)
        cut(self.folder / "sentences.f16", sentences * 2 * self.width)
        cut(self.folder / "tokens.i8", tokens * self.token_width)

    def write(self, reading: Reading, keys: NDArray[np.bytes_]) -> None:
        """Append texts after :meth:`cut_torn_tail`; a key on disk says that the rest is whole."""
        known = self._ends()
        last = known[-1] if len(known) else np.zeros(2, np.int64)
        counts = np.stack([reading.sentence_counts, reading.token_counts], axis=1)
        append(self.folder / "tokens.i8", reading.tokens.tobytes())
        append(self.folder / "sentences.f16", reading.sentence_vectors.tobytes())
        append(self.folder / "sentences.i32", reading.sentence_offsets.tobytes())
        append(self.folder / "ends.i64", (last + np.cumsum(counts, axis=0)).tobytes())
        append(self.folder / "keys.bin", keys.tobytes())

    def load(self, rows: NDArray[np.intp]) -> TokenRows:
        """The rows of texts: views of memory maps for one stretch, else gathered copies.

        Args:
            rows: from :meth:`rows`, all at least 0.
        """
        ends = self._ends()
        offsets = self._map("sentences.i32", np.int32, 2)
        vectors = self._map("sentences.f16", np.float16, self.width)
        tokens = self._map("tokens.i8", np.int8, self.token_width)
        begins = np.where(rows[:, None] > 0, ends[rows - 1], 0) if len(rows) else ends[:0]
        counts = ends[rows] - begins
        sentence_start, token_start = starts(counts[:, 0]), starts(counts[:, 1])
        pick: tuple[Any, Any]
        if len(rows) and in_stored_order(rows):
            pick = (slice(begins[0, 0], ends[rows[-1], 0]), slice(begins[0, 1], ends[rows[-1], 1]))
        else:
            pick = (stretches(begins[:, 0], counts[:, 0]), stretches(begins[:, 1], counts[:, 1]))
        return TokenRows(
            sentence_start, offsets[pick[0]], vectors[pick[0]], token_start, tokens[pick[1]]
        )

    def _ends(self) -> NDArray[np.int64]:
        """[M, 2] ends of sentences and tokens of texts that have both ends and key."""
        keys, ends = size_of(self.folder / "keys.bin"), size_of(self.folder / "ends.i64")
        count = min(keys // KEY_BYTES, ends // _END_BYTES)
        if not count:
            return np.empty((0, 2), dtype=np.int64)
        stored = np.fromfile(self.folder / "ends.i64", np.int64, 2 * count)
        return stored.reshape(-1, 2)

    def _map(self, name: str, kind: Any, width: int) -> NDArray[Any]:
        path = self.folder / name
        rows = size_of(path) // (np.dtype(kind).itemsize * width)
        if not rows:  # an empty file cannot be mapped
            return np.empty((0, width), dtype=kind)
        return np.memmap(path, kind, mode="r", shape=(rows, width))
