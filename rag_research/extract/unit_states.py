"""What a frozen encoder says of each unit of a document: mean, first and last token state."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rag_research.config.fingerprint import fingerprint
from rag_research.embed.sentence_encoder import SentenceEncoder
from rag_research.text.chunks import chunk
from rag_research.text.normalise import text_key

Half = NDArray[np.float16]
_WINDOW, _SHARED = 120, 20  # words a window of an over-long unit
_BLOCK = 4096  # units whose states are held while they are reduced


@dataclass(frozen=True, slots=True)
class UnitStates:
    """States of U units, half precision.

    Args:
        mean: of all token states of a unit, special tokens included (what sentence
            encoders pool), not normalised. [U, D]
        first: state of a unit's first token. [U, D]
        last: state of a unit's last token. [U, D]
    """

    mean: Half
    first: Half
    last: Half

    def __len__(self) -> int:
        return len(self.mean)


class UnitEncoder:
    """Runs units through a frozen encoder, each on its own, and keeps three states of each.

    Differs from the paper: a unit is encoded alone and not in the running text, so the states
    before a cut know nothing of what follows it; joins of any two units can then be made for
    training without encoding again. A unit longer than the encoder reads goes through it in
    windows of 120 words that share 20, and their means are averaged.

    Args:
        encoder: see :class:`~rag_research.embed.sentence_encoder.SentenceEncoder`.
        cache: folder where states are kept by text, or ``None``.
    """

    def __init__(self, encoder: SentenceEncoder, cache: Path | None = None) -> None:
        self.encoder = encoder
        self.cache = cache

    def documents(
        self, texts: Sequence[str], units: Sequence[Sequence[tuple[int, int]]]
    ) -> list[UnitStates]:
        """States of the units of each document, from the cache where they are there.

        Documents are encoded together: units of equal length share a batch, and the units of
        one document alone make many small batches.
        """
        found: dict[int, UnitStates] = {}
        paths = [self._path(text, own) for text, own in zip(texts, units, strict=True)]
        for i, path in enumerate(paths):
            if path is not None and path.is_file():
                with np.load(path) as kept:
                    found[i] = UnitStates(kept["mean"], kept["first"], kept["last"])
        missing = [i for i in range(len(texts)) if i not in found]
        pieces = [[texts[i][start:end] for start, end in units[i]] for i in missing]
        states = self.encode([unit for own in pieces for unit in own])
        end = 0
        for i, own in zip(missing, pieces, strict=True):
            start, end = end, end + len(own)
            rows = slice(start, end)
            found[i] = UnitStates(states.mean[rows], states.first[rows], states.last[rows])
            if (path := paths[i]) is not None:
                _save(path, found[i])
        return [found[i] for i in range(len(texts))]

    def _path(self, text: str, units: Sequence[tuple[int, int]]) -> Path | None:
        if self.cache is None:
            return None
        key = fingerprint(dict(self.encoder.identity), [list(unit) for unit in units])
        return self.cache / f"{text_key(key, text)}.npz"

    def encode(self, units: Sequence[str]) -> UnitStates:
        """Encode units of any documents; equal ones once.

        Shapes:
            [U] -> three times [U, D]
        """
        texts = [unit.strip() for unit in units]
        place = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        distinct = list(place)
        found = np.empty((3, len(distinct), self.encoder.dimension), dtype=np.float16)
        for start in range(0, len(distinct), _BLOCK):
            block = distinct[start : start + _BLOCK]
            found[:, start : start + len(block)] = self._block(block)
        rows = [place[text] for text in texts]
        mean, first, last = (found[i][rows] for i in range(3))
        return UnitStates(mean, first, last)

    def _block(self, texts: Sequence[str]) -> Half:
        pieces: list[str] = []
        spans: list[tuple[int, int]] = []
        for text in texts:
            own = list(_windows(text))
            spans.append((len(pieces), len(pieces) + len(own)))
            pieces += own
        states = np.empty((3, len(pieces), self.encoder.dimension), dtype=np.float32)
        for batch, tokens in self.encoder.token_states(pieces, "passage"):
            # Without text between the special tokens, both ends are the first of them.
            ends = (1, -2) if tokens.shape[1] > 2 else (0, 0)
            states[0, batch] = tokens.float().mean(dim=1).cpu().numpy()
            states[1, batch] = tokens[:, ends[0]].float().cpu().numpy()
            states[2, batch] = tokens[:, ends[1]].float().cpu().numpy()
        found = np.stack(
            [
                np.stack([states[0, a:b].mean(axis=0) for a, b in spans]),
                states[1, [a for a, _ in spans]],
                states[2, [b - 1 for _, b in spans]],
            ]
        )
        return found.astype(np.float16)


def _save(path: Path, states: UnitStates) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}.draft.npz")
    np.savez(draft, mean=states.mean, first=states.first, last=states.last)
    draft.replace(path)


def _windows(text: str) -> Iterator[str]:
    if len(text) <= _WINDOW:  # the common case, without counting words
        yield text
        return
    ranges = chunk(text, _WINDOW, _SHARED) or [(0, len(text))]
    yield from (text[start:end] for start, end in ranges)
