"""The protocol of a frozen text encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

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
