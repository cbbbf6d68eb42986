"""Ways of cutting text whose spans are equally long, so that only where they cut differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from rag_research.config.build import build
from rag_research.evaluation.segmentation import SegmentationConfig, network_labels
from rag_research.extract.boundary import Boundary
from rag_research.extract.fixed import Fixed
from rag_research.extract.recursive import Recursive
from rag_research.extract.sentences import Sentences
from rag_research.extract.spans import Interval, Segmenter
from rag_research.text.chunks import WORD
from rag_research.text.sentences import sentence_offsets

Pieces = list[list[Interval]]


class GroupedSentences:
    """Neighbouring sentences put together into spans of nearly equal length.

    A text of W words becomes ``k = max(1, round(W / size))`` spans, or as many as it has
    sentences; the i-th cut is at the sentence end nearest to ``i * W / k`` words that leaves each
    span at least one sentence. Blind to what the text says, but it leaves no short rest.

    Args:
        size: words a span aims at.
    """

    def __init__(self, size: int) -> None:
        self.size = size

    @property
    def identity(self) -> Mapping[str, str]:
        """The name and the size."""
        return {"segmenter": "grouped_sentences", "size": str(self.size)}

    def segment(self, texts: Sequence[str]) -> Pieces:
        """See :class:`rag_research.extract.spans.Segmenter`."""
        return [self._group(text) for text in texts]

    def _group(self, text: str) -> list[Interval]:
        sentences = sentence_offsets(text)
        before = np.cumsum([0, *(len(WORD.findall(text, a, b)) for a, b in sentences)])
        spans = min(max(1, round(before[-1] / self.size)), len(sentences))
        edges = [0]
        for i in range(1, spans):
            near = np.abs(before - i * before[-1] / spans)
            allowed = slice(edges[-1] + 1, len(sentences) - (spans - i) + 1)
            edges.append(allowed.start + int(near[allowed].argmin()))
        edges.append(len(sentences))
        firsts = [sentences[i][0] for i in edges[:-1]] if sentences else []
        return list(zip(firsts, [*firsts[1:], len(text)], strict=True)) if firsts else []


def mean_words(texts: Sequence[str], pieces: Sequence[Sequence[Interval]]) -> float:
    """Words of a span, on average; 0 without spans."""
    spans = sum(map(len, pieces))
    return sum(len(WORD.findall(text)) for text in texts) / spans if spans else 0.0


def fitted(
    make: Callable[[int], Segmenter], texts: Sequence[str], target: float
) -> tuple[int, Pieces]:
    """The size at which a segmenter's spans have a mean length nearest to ``target`` words.

    Bisection, as longer sizes give fewer spans; a target beyond the texts' own length ends at
    whole texts.

    Args:
        make: segmenter of a size, in whatever unit, 1 up to the longest text's characters.
        texts: to cut.
        target: mean words of a span.

    Returns:
        The size and what is cut with it.
    """
    low, high = 1, max([1, *map(len, texts)])
    while low < high:
        middle = (low + high) // 2
        if mean_words(texts, make(middle).segment(texts)) < target:
            low = middle + 1
        else:
            high = middle
    sizes = [size for size in (low - 1, low) if size >= 1]
    cut = {size: make(size).segment(texts) for size in sizes}
    best = min(sizes, key=lambda size: abs(mean_words(texts, cut[size]) - target))
    return best, cut[best]


def equal_length_pieces(config: SegmentationConfig, texts: Sequence[str]) -> dict[str, Pieces]:
    """What each way of cutting makes of the texts, by the name in the table.

    The networks aim at ``span_words``. Fixed and recursive splits and grouped sentences get the
    size at which their mean is the mean of what the networks made (``span_words`` without
    networks). Single sentences are as long as they are.
    """
    size = config.span_words
    found: dict[str, Pieces] = {}
    for label, name in network_labels(config.checkpoints).items():
        settings = {
            "checkpoint": name,
            "decoder": "viterbi",
            "max_words": size + size // 2,
            "min_words": size // 3,
            "device": config.device,
        }
        found[label] = Boundary(build(Boundary.Config, settings)).segment(texts)
    lengths = [mean_words(texts, pieces) for pieces in found.values()]
    target = float(np.mean(lengths)) if lengths else float(size)
    found["sentences"] = Sentences(Sentences.Config()).segment(texts)
    words, pieces = fitted(GroupedSentences, texts, target)
    found[f"sentences, grouped ({words} words)"] = pieces
    words, pieces = fitted(lambda n: Fixed(Fixed.Config(size=n)), texts, target)
    found[f"fixed ({words} words)"] = pieces
    characters, pieces = fitted(lambda n: Recursive(Recursive.Config(size=n)), texts, target)
    found[f"recursive ({characters} characters)"] = pieces
    return found
