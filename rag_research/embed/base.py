"""The protocol of a frozen text encoder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rag_research.errors import ConfigError

Vectors = NDArray[np.float32]
Role = Literal["query", "passage"]


@runtime_checkable
class Encoder(Protocol):
    """Text -> unit vector. Queries and passages may get different prefixes."""

    @property
    def identity(self) -> Mapping[str, str]:
        """What makes vectors comparable: model, weights hash, prefixes, length limit."""
        ...

    @property
    def dimension(self) -> int:
        """D, the length of a vector."""
        ...

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """Encode texts, in order.

        Args:
            texts: N strings; an empty string gives a valid vector.
            role: chooses the prefix.

        Returns:
            float32, L2-normalised.

        Shapes:
            [N] -> [N, D]
        """
        ...


class TokenEncoder(Encoder, Protocol):
    """An encoder that shows the states of a text's tokens and where the tokens stand."""

    def token_states(self, texts: Sequence[str], role: Role) -> Iterator[tuple[list[int], Any]]:
        """States of every token, special tokens included.

        Yields:
            Positions of texts of equal length, and their states: a tensor or an array.

        Shapes:
            [N] -> B positions, [B, T, D]
        """
        ...

    def token_offsets(self, texts: Sequence[str], role: Role) -> list[NDArray[np.int32]]:
        """Character ranges of the tokens of :meth:`token_states`, in the text without prefix.

        Special tokens and those of a prefix get (0, 0).

        Shapes:
            [N] -> N times [T, 2]
        """
        ...

    def pooled(self, texts: Sequence[str], states: Any) -> Vectors:
        """Unit vectors of texts from one batch of their states: what ``encode`` gives, to the bit.

        Shapes:
            [B], [B, T, D] -> [B, D]
        """
        ...

    def vocabulary(self) -> list[str]:
        """Words the encoder knows, in a fixed order; any texts may follow other words."""
        ...


def shows_tokens(kind: type) -> bool:
    """Whether an encoder of this class is a :class:`TokenEncoder`."""
    needed = ("token_states", "token_offsets", "pooled", "vocabulary")
    return all(callable(getattr(kind, name, None)) for name in needed)


def token_encoder(encoder: Encoder) -> TokenEncoder:
    """``encoder`` as one that shows its tokens.

    One that stands for another says with ``kind`` of what class that is.

    Raises:
        ConfigError: it gives vectors of whole texts only.
    """
    kind = getattr(encoder, "kind", type(encoder))
    if shows_tokens(kind):
        return cast(TokenEncoder, encoder)
    raise ConfigError(
        f"encoder: {kind.__name__} gives one vector a text and does not show the states of "
        "tokens, which are needed here. Use encoder=minilm (encoder.model=NAME for another local "
        "model, see rag-research models list), or encoder=hashing to try things out."
    )
