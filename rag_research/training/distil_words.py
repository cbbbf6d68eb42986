"""Make the word table of the light mode from a frozen encoder and training texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

import numpy as np

from rag_research.embed.base import Encoder
from rag_research.extract.word_table import WordTable

_WORD = re.compile(r"[^\W_]+")


def distil_words(
    texts: Iterable[str], encoder: Encoder, size: int = 20_000, dimension: int = 64
) -> WordTable:
    """A word's vector is the encoder's vector of the word alone, reduced by PCA.

    ``weight = log(N / df) / log(N)`` over the N texts. The common mean is removed, as all
    single words share a direction.

    Args:
        texts: training texts; short ones (paragraphs) make the weights sharper.
        encoder: the teacher.
        size: most frequent words kept; a word has to occur in two texts.
        dimension: of the vectors.

    Source: Model2Vec's recipe, in int8.
    """
    frequency: Counter[str] = Counter()
    count = 0
    for text in texts:
        frequency.update({word.lower() for word in _WORD.findall(text)})
        count += 1
    ranked = sorted((w for w, n in frequency.items() if n > 1), key=lambda w: (-frequency[w], w))
    words = ranked[:size]
    vectors = encoder.encode(words, "passage").astype(np.float64)
    vectors -= vectors.mean(axis=0)
    _, _, axes = np.linalg.svd(vectors.T @ vectors)
    reduced = vectors @ axes[:dimension].T
    scale = np.abs(reduced).max(axis=1, keepdims=True) + 1e-9
    df = np.array([frequency[word] for word in words])
    weights = np.clip(np.log(count / df) / np.log(max(count, 2)), 0.0, 1.0)
    return WordTable(
        words, np.round(127 * reduced / scale).astype(np.int8), weights.astype(np.float32)
    )
