"""Public ways to cut text, as segmenters: what the boundary network is compared with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rag_research.extract.unit_states import UnitEncoder
from rag_research.extract.window_features import depth
from rag_research.text.chunks import WORD
from rag_research.text.units import unit_offsets

Scores = NDArray[np.float32]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_STOP = _words(
    "a an the and or but of to in on at by for from with as is are was were be been it its this "
    "that these those he she they his her their i you we not no so if then than there which who "
    "what when where while have has had do does did will would can could may might"
)


class TextTiling:
    """Lexical block comparison with a valley cut-off (Hearst 1997).

    The text's words are grouped into sequences of ``w`` words; the similarity at each gap is
    the cosine of word counts, without stop words, of the ``k`` sequences on each side; it is
    smoothed by a running mean; a gap is a boundary if its depth exceeds ``mean - sd / 2`` and is
    moved to the nearest sentence end.

    Args:
        w: words in a sequence.
        k: sequences in a block.
        smoothing: gaps on each side of the running mean.
    """

    def __init__(self, w: int = 20, k: int = 10, smoothing: int = 1) -> None:
        self.w, self.k, self.smoothing = w, k, smoothing

    @property
    def identity(self) -> Mapping[str, str]:
        """The name and the three sizes."""
        sizes = f"{self.w}-{self.k}-{self.smoothing}"
        return {"segmenter": "text_tiling", "sizes": sizes}

    def segment(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """See :class:`rag_research.extract.spans.Segmenter`."""
        return [self._tile(text) for text in texts]

    def _tile(self, text: str) -> list[tuple[int, int]]:
        words = list(WORD.finditer(text))
        units = unit_offsets(text)
        sequences = [words[i : i + self.w] for i in range(0, len(words), self.w)]
        if len(sequences) < 3 or len(units) < 2:
            return [(0, len(text))] if text else []
        counts = [_counts(text, sequence) for sequence in sequences]
        gaps = range(1, len(sequences))
        scores = np.array([self._similarity(counts, gap) for gap in gaps], dtype=np.float32)
        width = 2 * self.smoothing + 1
        padded = np.pad(scores, self.smoothing, mode="edge")
        smooth = np.convolve(padded, np.ones(width) / width, mode="valid").astype(np.float32)
        valleys = _valleys(smooth)
        limit = valleys.mean() - valleys.std() / 2
        starts = np.array([start for start, _ in units[1:]])
        cuts = set()
        for gap in _peaks(valleys, limit):
            position = sequences[gap + 1][0].start()
            cuts.add(int(starts[np.abs(starts - position).argmin()]))
        return _pieces(text, sorted(cuts))

    def _similarity(self, counts: Sequence[Counter[str]], gap: int) -> float:
        size = min(self.k, gap, len(counts) - gap)  # both blocks of equal size at the ends
        left, right = Counter[str](), Counter[str]()
        for count in counts[gap - size : gap]:
            left.update(count)
        for count in counts[gap : gap + size]:
            right.update(count)
        shared = sum(number * right[word] for word, number in left.items())
        norm = sum(n * n for n in left.values()) * sum(n * n for n in right.values())
        return shared / norm**0.5 if norm else 0.0


class EmbeddingDepth:
    """Valleys of the cosine between mean sentence embeddings before and after a sentence end.

    A cut where the depth (over 8 ends on each side) exceeds ``mean + deviations * sd`` of the
    document.

    Args:
        encoder: of sentences.
        window: sentences on each side.
        deviations: above the mean.
    """

    def __init__(self, encoder: UnitEncoder, window: int = 8, deviations: float = 1.5) -> None:
        self.encoder, self.window, self.deviations = encoder, window, deviations

    @property
    def identity(self) -> Mapping[str, str]:
        """The name, the window, the cut-off and the encoder."""
        kind = f"embedding_depth-{self.window}-{self.deviations}"
        return {"segmenter": kind, **self.encoder.encoder.identity}

    def segment(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """See :class:`rag_research.extract.spans.Segmenter`."""

        def cuts(means: Scores) -> list[int]:
            depths = depth(_window_cosines(means, self.window))
            limit = depths.mean() + self.deviations * depths.std()
            return _peaks(depths, limit)

        return _cut_units(texts, self.encoder, cuts)


class SemanticChunker:
    """Cuts at the largest distances between neighbouring sentence embeddings.

    The usual semantic chunker: each sentence is embedded with the ``buffer`` sentences around
    it (their mean here), and a cut falls where the cosine distance to the next one exceeds a
    percentile of the document's distances.

    Args:
        encoder: of sentences.
        percentile: of the distances.
        buffer: sentences on each side that belong to an embedding.
    """

    def __init__(self, encoder: UnitEncoder, percentile: float = 95, buffer: int = 1) -> None:
        self.encoder, self.percentile, self.buffer = encoder, percentile, buffer

    @property
    def identity(self) -> Mapping[str, str]:
        """The name, the percentile, the buffer and the encoder."""
        kind = f"semantic_chunker-{self.percentile}-{self.buffer}"
        return {"segmenter": kind, **self.encoder.encoder.identity}

    def segment(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """See :class:`rag_research.extract.spans.Segmenter`."""

        def cuts(means: Scores) -> list[int]:
            padded = np.pad(means, ((self.buffer, self.buffer), (0, 0)))
            size = 2 * self.buffer + 1
            near = sum(padded[i : i + len(means)] for i in range(size))
            unit = _unit(np.asarray(near, dtype=np.float32))
            distances = 1 - (unit[:-1] * unit[1:]).sum(axis=1)
            limit = np.percentile(distances, self.percentile)
            return [int(i) for i in np.flatnonzero(distances > limit)]

        return _cut_units(texts, self.encoder, cuts)


def _cut_units(
    texts: Sequence[str], encoder: UnitEncoder, cuts: Callable[[Scores], list[int]]
) -> list[list[tuple[int, int]]]:
    units = [unit_offsets(text) for text in texts]
    found = []
    for text, own, states in zip(texts, units, encoder.documents(texts, units), strict=True):
        means = _unit(states.mean.astype(np.float32))
        chosen = cuts(means) if len(own) > 2 else []
        found.append(_pieces(text, [own[i + 1][0] for i in chosen]))
    return found


def _window_cosines(means: Scores, window: int) -> Scores:
    sums = np.concatenate([np.zeros((1, means.shape[1]), np.float32), np.cumsum(means, axis=0)])
    at = np.arange(1, len(means))
    left = sums[at] - sums[np.maximum(at - window, 0)]
    right = sums[np.minimum(at + window, len(means))] - sums[at]
    found: Scores = (_unit(left) * _unit(right)).sum(axis=1)
    return found


def _valleys(scores: Scores) -> Scores:
    """Depth by climbing to the nearest hill on each side."""
    found = np.zeros_like(scores)
    for i, score in enumerate(scores):
        left = right = score
        for value in scores[i::-1]:
            if value < left:
                break
            left = value
        for value in scores[i:]:
            if value < right:
                break
            right = value
        found[i] = left + right - 2 * score
    return found


def _peaks(depths: Scores, limit: float) -> list[int]:
    """Local maxima above the limit."""
    padded = np.pad(depths, 1, constant_values=-np.inf)
    highest = (depths >= padded[:-2]) & (depths > padded[2:])
    return [int(i) for i in np.flatnonzero(highest & (depths > limit))]


def _pieces(text: str, cuts: Sequence[int]) -> list[tuple[int, int]]:
    return list(pairwise([0, *cuts, len(text)])) if text else []


def _counts(text: str, sequence: Sequence[object]) -> Counter[str]:
    words = (match.group().lower().strip(".,;:!?\"'()") for match in sequence)  # type: ignore[attr-defined]
    return Counter(word for word in words if word and word not in _STOP)


def _unit(vectors: Scores) -> Scores:
    norms = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    found: Scores = vectors / np.maximum(norms, 1e-9)
    return found
