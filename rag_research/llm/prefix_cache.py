"""Key-value states of prompt beginnings that come again.

Requests of one prompt file share its system message and worked examples. The states of a
token depend only on the tokens before it, so they can be computed once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import torch

Layers = list[tuple[torch.Tensor, torch.Tensor]]
"""Per layer: keys and values, each ``[B, heads, T, D]``."""


@dataclass(slots=True)
class _Entry:
    tokens: tuple[int, ...]
    layers: Layers


class PrefixCache:
    """The longest beginning that the requests of each prompt had in common so far.

    The first request under a key is kept whole; every later one shortens it to what both
    share, which after two or three requests is the fixed part of the prompt.

    Args:
        capacity: tokens kept over all keys; the least recently used keys go first.
        least: a shorter beginning is not worth keeping or using.
    """

    def __init__(self, capacity: int, least: int = 32) -> None:
        self.capacity, self.least = capacity, least
        self._entries: OrderedDict[tuple[str, tuple[int, ...]], _Entry] = OrderedDict()

    def find(self, key: str, tokens: Sequence[int]) -> tuple[int, Layers]:
        """The states that can stand in for the beginning of ``tokens``.

        Args:
            key: name of the prompt.
            tokens: the whole prompt; its last token is never covered, since its logits are
                wanted.

        Returns:
            How many tokens are covered (0 for none) and their states.
        """
        entry = self._entries.get(self._name(key, tokens))
        if entry is None:
            return 0, []
        self._entries.move_to_end(self._name(key, tokens))
        shared = _common(entry.tokens, tokens[:-1])
        if shared < self.least:
            return 0, []
        if shared < len(entry.tokens):
            # clone, so that the memory of the rest is given back
            entry.layers = [
                (k[:, :, :shared].clone(), v[:, :, :shared].clone()) for k, v in entry.layers
            ]
            entry.tokens = entry.tokens[:shared]
        return shared, entry.layers

    def add(self, key: str, tokens: Sequence[int], layers: Layers) -> None:
        """Keep the states of a whole prompt, unless its key has some or it is too long.

        Args:
            key: name of the prompt.
            tokens: the prompt.
            layers: its states, batch size 1.
        """
        name = self._name(key, tokens)
        if name in self._entries or not self.least < len(tokens) <= self.capacity:
            return
        self._entries[name] = _Entry(tuple(tokens), layers)
        while sum(len(e.tokens) for e in self._entries.values()) > self.capacity:
            self._entries.popitem(last=False)

    def _name(self, key: str, tokens: Sequence[int]) -> tuple[str, tuple[int, ...]]:
        # Two unlike prompts under one key (or none) must not shorten each other to nothing.
        return key, tuple(tokens[: self.least])


def _common(a: Sequence[int], b: Sequence[int]) -> int:
    for i, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return i
    return min(len(a), len(b))
