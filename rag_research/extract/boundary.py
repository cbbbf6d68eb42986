"""Spans that end where a trained network sees the subject change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np

from rag_research.config.build import build, inert
from rag_research.errors import ArtifactError
from rag_research.extract.boundaries import DecodingConfig, Logits, decode
from rag_research.extract.boundary_checkpoint import (
    BoundaryCheckpoint,
    load_checkpoint,
)
from rag_research.extract.boundary_features import contextual_features, light_features
from rag_research.extract.unit_states import UnitEncoder, UnitStates
from rag_research.runtime.carriers import sha256_of
from rag_research.runtime.checkpoints import find_checkpoint
from rag_research.text.chunks import WORD
from rag_research.text.units import unit_offsets

_TOGETHER = 400_000  # characters of documents encoded together
_ROWS = 8192  # candidates in one pass of the network


@dataclass(frozen=True, slots=True)
class BoundaryConfig:
    """Which network, and how its probabilities become cuts.

    Args:
        checkpoint: a released network (see ``checkpoints/README.md``) or the path of
            a ``.safetensors`` file with its card beside; the card says the mode.
        decoder: ``threshold`` or ``viterbi``; ``None`` takes the card's.
        threshold: probability in (0, 1); ``None`` takes the card's.
        min_words: least words of a span (``viterbi``); ``None`` takes the card's.
        max_words: most words of a span (``viterbi``), 0 for no limit; ``None`` takes the card's.
        encoder: where the contextual mode's encoder is, if not where the card says: a local
            folder, a catalogue name or a hub id. The weights have to be the card's.
        precision: of the encoder; its states agree to a cosine of .999 or better.
        device: of the encoder: ``auto``, ``cpu``, ``cuda`` or ``cuda:INDEX``.
        threads: CPU threads of one operator of the encoder.
    """

    name: str = "boundary"
    checkpoint: str = "boundary-light"
    decoder: Literal["threshold", "viterbi"] | None = None
    threshold: float | None = None
    min_words: int | None = None
    max_words: int | None = None
    encoder: str | None = inert(None)
    precision: Literal["bf16", "fp32"] = "fp32"
    device: str = inert("auto")
    threads: int = inert(1)


class Boundary:
    """The boundary classifier of the Semantic Topology Mapper, with its decoder.

    Time and memory are linear in the length of the texts; no LLM token is spent.

    Args:
        config: see :class:`BoundaryConfig`.
    """

    Config = BoundaryConfig

    def __init__(self, config: BoundaryConfig) -> None:
        self.config = config

    @cached_property
    def _checkpoint(self) -> BoundaryCheckpoint:
        return load_checkpoint(self.config.checkpoint)

    @cached_property
    def decoding(self) -> DecodingConfig:
        """The card's decoding, with what the configuration changes."""
        names = ("decoder", "threshold", "min_words", "max_words")
        changed = {n: getattr(self.config, n) for n in names if getattr(self.config, n) is not None}
        return build(DecodingConfig, {**self._checkpoint.card["decoding"], **changed}, "segmenter")

    @cached_property
    def identity(self) -> Mapping[str, str]:
        """Hash of the network's file, and the decoding."""
        decoding = self.decoding
        return {
            "segmenter": self.config.name,
            "weights": sha256_of(find_checkpoint(self.config.checkpoint, self.config.name)),
            "precision": self.config.precision,
            "decoder": decoding.decoder,
            "threshold": str(decoding.threshold),
            "min_words": str(decoding.min_words),
            "max_words": str(decoding.max_words),
        }

    @cached_property
    def encoder(self) -> UnitEncoder | None:
        """What makes the states of the contextual mode; ``None`` in the light mode."""
        wanted = self._checkpoint.card["encoder"]
        if self._checkpoint.mode == "light":
            return None
        from rag_research.embed.sentence_encoder import SentenceEncoder

        settings = {
            "model": self.config.encoder or wanted["model"],
            "precision": self.config.precision,
            "device": self.config.device,
            "threads": self.config.threads,
        }
        encoder = SentenceEncoder(build(SentenceEncoder.Config, settings))
        found = encoder.identity["weights"]
        if found != wanted["sha256"]:
            raise ArtifactError(
                f"The boundary network {self._checkpoint.name} was trained on states of "
                f"{wanted['model']} (sha256 {wanted['sha256'][:12]}); {settings['model']!r} has "
                f"{found[:12]}. Use the same encoder, train again with train/boundary.py, or "
                "take checkpoint=boundary-light, which needs none."
            )
        return UnitEncoder(encoder)

    def segment(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """See :class:`rag_research.extract.spans.Segmenter`."""
        found = []
        for text, units, logits in self._scored(texts):
            words = [len(WORD.findall(text, start, end)) for start, end in units]
            cuts = [units[i + 1][0] for i in decode(logits, words, self.decoding)]
            edges = [0, *cuts, len(text)] if text else []
            found.append(list(pairwise(edges)))
        return found

    def logits(self, text: str) -> tuple[list[tuple[int, int]], Logits]:
        """The units of a text and the logit of a cut after each but the last.

        Shapes:
            U units, [max(U - 1, 0)]
        """
        ((_, units, logits),) = self._scored([text])
        return units, logits

    def _scored(self, texts: Sequence[str]) -> Iterator[tuple[str, list[tuple[int, int]], Logits]]:
        for group in _groups(texts):
            units = [unit_offsets(text) for text in group]
            states: Sequence[UnitStates | None] = [None] * len(group)
            if self.encoder is not None:
                states = self.encoder.documents(group, units)
            for text, own, known in zip(group, units, states, strict=True):
                yield text, own, self._network(text, own, known)

    def _network(
        self, text: str, units: list[tuple[int, int]], states: UnitStates | None
    ) -> Logits:
        import torch

        if len(units) < 2:
            return np.zeros(0, dtype=np.float32)
        rows = light_features(text, units, self._checkpoint.table)
        if states is not None:
            rows = contextual_features(rows, states, self._checkpoint.card["states"])
        with torch.inference_mode():
            parts = [
                self._checkpoint.network(torch.from_numpy(rows[i : i + _ROWS])).numpy()
                for i in range(0, len(rows), _ROWS)
            ]
        return np.concatenate(parts)


def _groups(texts: Sequence[str]) -> Iterator[list[str]]:
    group: list[str] = []
    size = 0
    for text in texts:
        if group and size + len(text) > _TOGETHER:
            yield group
            group, size = [], 0
        group.append(text)
        size += len(text)
    if group:
        yield group
