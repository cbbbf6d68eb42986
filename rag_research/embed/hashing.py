"""An encoder without weights: hashed words and character trigrams."""

from __future__ import annotations

import math
import re
import string
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_research.embed.base import Role, Vectors
from rag_research.embed.batches import equal_length_batches

_WORD = re.compile(r"\w+|[^\w\s]")
_TRIGRAM_WEIGHT = 0.4
_BATCH_TOKENS = 4096


@dataclass(frozen=True, slots=True)
class HashingConfig:
    """Args:
    dimension: D; fewer dimensions mean more collisions.
    """

    name: str = "hashing"
    dimension: int = 256

    def __post_init__(self) -> None:
        if self.dimension < 1:
            raise ValueError(f"dimension: got {self.dimension}, expected at least 1.")


class Hashing:
    """Signed feature hashing of words and their character trigrams.

    ``v = normalise(sum_f w_f (1 + ln tf_f) sign(f) e_{hash(f) mod D})`` with ``w = 1`` for
    words and 0.4 for trigrams. A real but weak lexical encoder: it needs no download, gives
    the same vectors on every machine, and serves tests and smoke runs.

    Args:
        config: see :class:`HashingConfig`.

    Source: Weinberger et al., Feature Hashing for Large Scale Multitask Learning, 2009.
    """

    Config = HashingConfig

    def __init__(self, config: HashingConfig) -> None:
        self.config = config

    @property
    def identity(self) -> Mapping[str, str]:
        """The scheme and its dimension."""
        return {"encoder": "hashing", "version": "1", "dimension": str(self.dimension)}

    @property
    def dimension(self) -> int:
        """D, as configured."""
        return self.config.dimension

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """Encode texts, in order; queries and passages alike.

        Args:
            texts: N strings; one without any feature gives the first unit vector.
            role: has no effect.

        Shapes:
            [N] -> [N, D]
        """
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for feature, count in _features(text).items():
                code = zlib.crc32(feature.encode("utf-8", "surrogatepass"))
                weight = 1.0 if feature[0] == "w" else _TRIGRAM_WEIGHT
                sign = 1.0 if code & 0x80000000 else -1.0
                vectors[row, code % self.dimension] += sign * weight * (1.0 + math.log(count))
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors[norms[:, 0] == 0, 0] = 1.0
        norms[norms == 0] = 1.0
        unit: Vectors = vectors / norms
        return unit

    def token_states(self, texts: Sequence[str], role: Role) -> Iterator[tuple[list[int], Any]]:
        """The hashed vector of every word, in order; there are no special tokens.

        Args:
            texts: N strings of any length.
            role: has no effect.

        Yields:
            Positions of texts with equally many words, most first, and the words' vectors.

        Shapes:
            [N] -> B positions, [B, T, D]
        """
        words = [_WORD.findall(text) for text in texts]
        for batch in equal_length_batches([len(w) for w in words], _BATCH_TOKENS):
            flat = [word for i in batch for word in words[i]]
            place = {word: row for row, word in enumerate(dict.fromkeys(flat))}
            states = self.encode(list(place), role)[[place[word] for word in flat]]
            yield batch, states.reshape(len(batch), -1, self.dimension)

    def token_offsets(self, texts: Sequence[str], role: Role) -> list[NDArray[np.int32]]:
        """Character ranges of the words of :meth:`token_states`.

        Shapes:
            [N] -> N times [T, 2]
        """
        spans = ([match.span() for match in _WORD.finditer(text)] for text in texts)
        return [np.asarray(found, dtype=np.int32).reshape(-1, 2) for found in spans]

    def pooled(self, texts: Sequence[str], states: Any) -> Vectors:
        """``encode(texts)``: a word's vector does not tell how often its features occur.

        Shapes:
            [B], [B, T, D] -> [B, D]
        """
        return self.encode(texts, "passage")

    def vocabulary(self) -> list[str]:
        """Every pair of small letters, for it knows no words: their trigrams spread evenly."""
        return [a + b for a in string.ascii_lowercase for b in string.ascii_lowercase]


def _features(text: str) -> Counter[str]:
    features: Counter[str] = Counter()
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold()):
        features["w" + word] += 1
        padded = f"#{word}#"
        features.update("t" + padded[i : i + 3] for i in range(len(padded) - 2))
    return features
