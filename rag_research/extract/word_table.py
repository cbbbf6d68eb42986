"""Static word vectors: what the light boundary features know of meaning, without a transformer."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_research.text.chunks import UNSPACED

Features = NDArray[np.float32]
_WORD = re.compile(rf"[{UNSPACED}]|[^\W_]+")
_SIGNS = 64  # dimensions of the lexical space
_ROWS = 1 << 15


@dataclass(frozen=True, slots=True)
class WordsOfUnits:
    """The words of a document's units, as numbers.

    Args:
        ids: of all words in order; below V the table's own, above it hashes. [W]
        weights: inverse document frequencies in [0, 1]. [W]
        starts: index of each unit's first word. [U]
    """

    ids: NDArray[np.int64]
    weights: Features
    starts: NDArray[np.int64]


class WordTable:
    """Vectors and weights of V frequent words; other words are known by their hash only.

    Args:
        words: lower-case, distinct.
        vectors: int8, one row a word; only directions matter. [V, D]
        weights: inverse document frequency of each word, scaled to [0, 1]. [V]
    """

    def __init__(self, words: Sequence[str], vectors: NDArray[np.int8], weights: Features) -> None:
        self.words = list(words)
        self.vectors = vectors
        self.weights = weights
        self._place = {word: i for i, word in enumerate(self.words)}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Any]) -> WordTable:
        """The inverse of :meth:`tensors`."""
        words = bytes(tensors["table_words"]).decode("utf-8").split("\n")
        return cls(words, tensors["table_vectors"], tensors["table_weights"].astype(np.float32))

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The table as arrays, as a checkpoint keeps it."""
        text = np.frombuffer("\n".join(self.words).encode("utf-8"), dtype=np.uint8)
        return {
            "table_words": text,
            "table_vectors": self.vectors,
            "table_weights": self.weights.astype(np.float16),
        }

    @property
    def dimension(self) -> int:
        """D, the length of a word's vector."""
        return int(self.vectors.shape[1])

    @cached_property
    def _weighted(self) -> Features:
        """Unit vectors times weights, and a zero row for words that are not in the table."""
        rows = self.vectors.astype(np.float32)
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)
        rows *= self.weights[:, None]
        return np.concatenate([rows, np.zeros((1, self.dimension), np.float32)])

    @cached_property
    def _signs(self) -> NDArray[np.int8]:
        generator = np.random.Generator(np.random.PCG64(20240501))
        return (generator.integers(0, 2, (_ROWS, _SIGNS), dtype=np.int8) * 2 - 1).astype(np.int8)

    def read(self, text: str, units: Sequence[tuple[int, int]]) -> WordsOfUnits:
        """Look up the words of a document."""
        place, size = self._place, len(self.words)
        ids: list[int] = []
        starts: list[int] = []
        find = _WORD.findall
        lowered = text.lower()
        if len(lowered) != len(text):  # a few letters change length: keep the positions
            lowered = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
        for start, end in units:
            starts.append(len(ids))
            for word in find(lowered, start, end):
                number = place.get(word)
                ids.append(size + zlib.crc32(word.encode()) if number is None else number)
        found = np.array(ids, dtype=np.int64)
        weights = np.append(self.weights, np.float32(1.0))[np.minimum(found, size)]
        return WordsOfUnits(found, weights.astype(np.float32), np.array(starts, dtype=np.int64))

    def meaning(self, words: WordsOfUnits) -> Features:
        """Weighted sums of word vectors. [W words of U units] -> [U, D]"""
        rows = self._weighted[np.minimum(words.ids, len(self.words))]
        return _sums(rows, words.starts)

    def wording(self, words: WordsOfUnits) -> Features:
        """Weighted sums of random signs by word: their cosine estimates that of tf-idf vectors.

        Shapes:
            W words of U units -> [U, 64]
        """
        rows = self._signs[words.ids % _ROWS] * words.weights[:, None]
        return _sums(rows.astype(np.float32), words.starts)


def _sums(rows: Features, starts: NDArray[np.int64]) -> Features:
    if not len(rows):
        return np.zeros((len(starts), rows.shape[1]), dtype=np.float32)
    sums = np.add.reduceat(rows, np.minimum(starts, len(rows) - 1), axis=0)
    sums[np.diff(np.append(starts, len(rows))) == 0] = 0.0
    found: Features = sums
    return found
