"""Token and sentence vectors on disk by text: memory-mapped, incremental, resumable."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from rag_research.config.fingerprint import fingerprint
from rag_research.embed.base import Encoder, Vectors, token_encoder
from rag_research.embed.keyed_files import (
    LOCK,
    claim_folder,
    growing_chunks,
    missing_rows,
    read_keys,
    refuse_reading,
    text_keys,
)
from rag_research.embed.store import EmbeddingStore
from rag_research.embed.token_basis import as_array, token_basis, unit_rows
from rag_research.embed.token_files import TokenFiles
from rag_research.embed.token_reading import project, read_texts
from rag_research.errors import ArtifactError, ConfigError

STAGE = "tokens"
VERSION = 1
DIMENSION = 128
LARGEST_CHUNK = 8192


@dataclass(frozen=True, slots=True)
class TokenTables:
    """N texts in the asked order; memory maps where they lie in stored order.

    Sentence i of text n is row ``sentence_start[n] + i``; tokens alike.

    Args:
        vectors: [N, D] float32 unit: ``encoder.encode(texts, "passage")``.
        sentence_start: [N + 1] int64.
        sentence_offsets: [S, 2] int32 character ranges in the text.
        sentence_vectors: [S, D] float16 unit: the mean of the states of the sentence's tokens in
            their text, normalised ("late pooling"); the text's vector where a sentence has
            no token, as past ``max_tokens``.
        token_start: [N + 1] int64.
        tokens: [T, d] int8: 127 times the unit projection of a token's state; tokens that stand
            for no character of the text (special ones, the prefix) are left out.
        basis: [D, d] float32, orthonormal columns.
    """

    vectors: Vectors
    sentence_start: NDArray[np.int64]
    sentence_offsets: NDArray[np.int32]
    sentence_vectors: NDArray[np.float16]
    token_start: NDArray[np.int64]
    tokens: NDArray[np.int8]
    basis: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class QueryTokens:
    """One query.

    Args:
        vector: [D] float32 unit, pooled.
        states: [t, D] float32 unit token states, without special tokens and prefix.
        projected: [t, d] float32 unit; ``tokens @ projected.T / 127`` are cosines.
        offsets: [t, 2] int32 character ranges in the query.
    """

    vector: Vectors
    states: NDArray[np.float32]
    projected: NDArray[np.float32]
    offsets: NDArray[np.int32]


class TokenStore:
    """What one pass of a frozen encoder tells: ``<root>/tokens/<encoder, role, dimension>/``.

    Pooled vectors go to the :class:`EmbeddingStore` of the same root. ``sentences.f16``,
    ``sentences.i32`` and ``tokens.i8`` only grow; ``ends.i64`` holds where each text's rows end
    in them and ``keys.bin`` 16 bytes of BLAKE2 of its head and text. Every file is
    synced before the next, keys last, so kill -9 loses at most one chunk, and a torn
    tail is cut off before the next write. A file lock lets one process encode.

    Per million passages of 130 tokens and 4 sentences at D = 384, d = 128: 16.6 GB of tokens and
    3.1 GB of sentences; in memory about 100 MB for keys and ends, plus one chunk. The tables
    stay on disk when the asked texts lie in stored order; otherwise they are gathered.

    Args:
        root: the root of an artefact store.
        encoder: one that shows its tokens.
        dimension: d of the compressed tokens, 128 when left out, at most D; see
            :func:`token_basis` for what it costs.
        read_only: texts that are not stored are an error; nothing is encoded but queries.

    Raises:
        ConfigError: the encoder does not show its tokens, or d is below 1.
    """

    def __init__(
        self,
        root: Path,
        encoder: Encoder,
        dimension: int | None = None,
        *,
        read_only: bool = False,
    ) -> None:
        if dimension is not None and dimension < 1:
            raise ConfigError(f"token dimension: got {dimension}, expected at least 1.")
        self.root = Path(root)
        self.encoder = token_encoder(encoder)
        self._dimension = dimension
        self.read_only = read_only

    def tables(
        self,
        texts: Sequence[str],
        heads: Sequence[int] | None = None,
        label: str = "read tokens",
    ) -> TokenTables:
        """The tables of ``texts``; only those not yet stored are encoded.

        Args:
            texts: N strings; repeats are encoded once.
            heads: characters at the start of each text (a title line) that belong to no
                sentence; 0 when left out. The same text with another head is read again.
            label: names the progress bar.

        Raises:
            ConfigError: not one head of at least 0 for each text; d larger than D.
            ArtifactError: the store's files belong to another encoder or are damaged; it is
                read-only and lacks a text.
        """
        heads = [0] * len(texts) if heads is None else heads
        if len(heads) != len(texts) or any(head < 0 for head in heads):
            raise ConfigError(
                f"heads: got {len(heads)} for {len(texts)} texts, smallest "
                f"{min(heads, default=0)}; expected one number of characters of at least 0 each."
            )
        keys = text_keys(f"{head}\n{text}" for head, text in zip(heads, texts, strict=True))
        files = self._files
        rows = files.rows(keys)
        if (rows < 0).any():
            if self.read_only:
                refuse_reading(files.folder, int((rows < 0).sum()))
            with FileLock(files.folder / LOCK):
                files.cut_torn_tail()
                missing = missing_rows(read_keys(files.folder, files.count()), keys)
                self._read(texts, heads, keys, missing, label)
            rows = files.rows(keys)
        pooled = EmbeddingStore(self.root, self.encoder, read_only=self.read_only)
        vectors = pooled.vectors(texts)
        return TokenTables(vectors, *files.load(rows), self.basis)

    def query(self, texts: Sequence[str]) -> list[QueryTokens]:
        """Read queries; nothing is stored.

        Args:
            texts: N strings.
        """
        found: dict[int, QueryTokens] = {}
        offsets = self.encoder.token_offsets(texts, "query")
        for batch, states in self.encoder.token_states(texts, "query"):
            pooled = self.encoder.pooled([texts[i] for i in batch], states)
            for i, vector, rows in zip(batch, pooled, as_array(states), strict=True):
                inner = offsets[i][:, 1] > offsets[i][:, 0]
                unit = unit_rows(rows[inner])
                projected = project(unit, self.basis)
                found[i] = QueryTokens(vector, unit, projected, offsets[i][inner])
        return [found[i] for i in range(len(texts))]

    @cached_property
    def dimension(self) -> int:
        """d: what was asked for, or 128, or all the encoder has when that is less."""
        return self._dimension or min(DIMENSION, self.encoder.dimension)

    @cached_property
    def basis(self) -> NDArray[np.float32]:
        """[D, d], made once for each folder and kept with the tokens that were made with it."""
        path = self._files.folder / "basis.npy"
        if not path.exists():
            made = token_basis(self.encoder, self.dimension)
            with FileLock(self._files.folder / ".basis.lock"):
                if not path.exists():
                    draft = path.with_name(".basis.npy")
                    with draft.open("wb") as file:
                        np.save(file, made)
                        file.flush()
                        os.fsync(file.fileno())
                    draft.replace(path)
        shape = (self.encoder.dimension, self.dimension)
        try:
            stored: NDArray[np.float32] = np.load(path)
        except (ValueError, EOFError) as error:
            raise ArtifactError(
                f"{path} is not readable ({error}). Delete {path.parent} to encode again."
            ) from error
        if stored.shape != shape:
            raise ArtifactError(
                f"{path} has shape {stored.shape}, expected {shape}. Delete {path.parent} to "
                "encode again."
            )
        return stored

    @cached_property
    def _files(self) -> TokenFiles:
        identity = dict(self.encoder.identity)
        mine = {"version": VERSION, "role": "passage", "identity": identity}
        mine |= {"dimension": self.encoder.dimension, "token_dimension": self.dimension}
        folder = self.root / STAGE / fingerprint(VERSION, identity, "passage", self.dimension)
        claim_folder(folder, mine, self.read_only)
        return TokenFiles(folder, self.encoder.dimension, self.dimension)

    def _read(
        self,
        texts: Sequence[str],
        heads: Sequence[int],
        keys: NDArray[np.bytes_],
        missing: NDArray[np.intp],
        label: str,
    ) -> None:
        pooled = EmbeddingStore(self.root, self.encoder)
        for chunk in growing_chunks(missing, LARGEST_CHUNK, label):
            mine = [texts[i] for i in chunk]
            reading = read_texts(self.encoder, mine, [heads[i] for i in chunk], self.basis)
            pooled.add(mine, reading.vectors)
            self._files.write(reading, keys[chunk])
