"""An orthonormal basis in which token states are kept, the same for every corpus."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_research.embed.base import TokenEncoder
from rag_research.errors import ConfigError

_WORDS = 4096
_WORDS_OF_A_TEXT = 60


def token_basis(encoder: TokenEncoder, dimension: int) -> NDArray[np.float32]:
    """The first principal directions of the encoder's unit token states over its vocabulary.

    Uncentred PCA over about 4,096 words spread evenly over the vocabulary, read sixty at a
    time as if they were texts. It needs no corpus, knows the encoder's languages, and loses
    little against a basis made from passages. Measured with all-minilm-l6-v2 on the greatest
    cosine of a question token with the tokens of a passage (200 questions of MuSiQue, each with
    its gold and 20 nearest passages): between full states and int8 projections to 64 dimensions
    it correlates by 0.933 (96: 0.959, 128: 0.974). A basis made from 2,000 passages of
    HotpotQA reaches 0.937, from 300 generated articles 0.917, a random one 0.908.

    Args:
        encoder: whose states.
        dimension: d.

    Returns:
        Orthonormal columns, the strongest direction first.

    Raises:
        ConfigError: d is not between 1 and D.

    Shapes:
        -> [D, d]
    """
    if not 1 <= dimension <= encoder.dimension:
        raise ConfigError(
            f"token dimension: got {dimension}, expected 1 to {encoder.dimension}, the dimension "
            "of the encoder's vectors."
        )
    texts = sample_texts(encoder.vocabulary())
    offsets = encoder.token_offsets(texts, "passage")
    moments = np.zeros((encoder.dimension, encoder.dimension))
    for batch, states in encoder.token_states(texts, "passage"):
        places = np.stack([offsets[i] for i in batch])
        inner = unit_rows(as_array(states)[places[..., 1] > places[..., 0]]).astype(np.float64)
        moments += inner.T @ inner
    directions = np.linalg.eigh(moments)[1][:, ::-1][:, :dimension]
    # The sign of a direction is arbitrary: its largest entry is made positive.
    largest = np.abs(directions).argmax(axis=0)
    directions = directions * np.sign(directions[largest, np.arange(dimension)])
    return np.ascontiguousarray(directions, dtype=np.float32)


def sample_texts(words: list[str]) -> list[str]:
    """Texts of sixty words each; neighbours in the vocabulary go to different texts."""
    chosen = words[:: max(1, len(words) // _WORDS)][:_WORDS]
    count = max(1, len(chosen) // _WORDS_OF_A_TEXT)
    return [" ".join(chosen[start::count]) for start in range(count)]


def as_array(states: Any) -> NDArray[np.float32]:
    """A tensor of any precision on any device, or an array, as float32 in memory."""
    if hasattr(states, "cpu"):
        states = states.float().cpu().numpy()
    return np.asarray(states, dtype=np.float32)


def unit_rows(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows divided by their length; rows of zeros stay."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, np.where(lengths == 0, 1, lengths), dtype=np.float32)
