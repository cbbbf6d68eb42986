"""From boundary probabilities to cuts: the paper's threshold, or the best cut sequence."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Logits = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class DecodingConfig:
    """How cuts are chosen.

    Args:
        decoder: ``threshold`` cuts wherever the probability exceeds ``threshold``; ``viterbi``
            takes the best sequence of cuts under the span lengths below.
        threshold: in (0, 1).
        min_words: least words of a span (``viterbi``); kept unless the text has no such cuts.
        max_words: most words of a span (``viterbi``); 0 is no limit. A unit longer than this
            stays whole.
    """

    decoder: Literal["threshold", "viterbi"] = "viterbi"
    threshold: float = 0.5
    min_words: int = 0
    max_words: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.threshold < 1:
            raise ValueError(f"threshold: got {self.threshold}, expected a value in (0, 1).")
        if self.min_words < 0 or self.max_words < 0:
            raise ValueError("min_words and max_words: expected values of at least 0.")
        if 0 < self.max_words < self.min_words:
            raise ValueError(
                f"max_words: got {self.max_words}, expected at least min_words {self.min_words}."
            )


def decode(
    logits: Logits, words: Sequence[int] | NDArray[np.int64], config: DecodingConfig
) -> list[int]:
    """Which candidates are cuts.

    Args:
        logits: of the candidate after each unit but the last. [C]
        words: of each unit. [C + 1]
        config: see :class:`DecodingConfig`.

    Returns:
        Increasing numbers of candidates.
    """
    margin = logits - np.float32(np.log(config.threshold / (1 - config.threshold)))
    if config.decoder == "threshold":
        return [int(i) for i in np.flatnonzero(margin > 0)]
    return viterbi(margin, words, config.min_words, config.max_words)


def viterbi(
    margins: Logits,
    words: Sequence[int] | NDArray[np.int64],
    min_words: int = 0,
    max_words: int = 0,
) -> list[int]:
    """The cuts with the greatest sum of margins whose spans keep to the lengths.

    ``best(j) = margin(j) + max best(i)`` over the cuts ``i`` before ``j`` with
    ``min <= words between <= max``; the ends of the text are cuts of margin 0. Where no
    sequence keeps to both, spans break a limit, at a cost that outweighs any margins. A
    monotone queue holds the best predecessors: O(C).

    Args:
        margins: gain of each candidate. [C]
        words: of each unit. [C + 1]
        min_words: least words of a span.
        max_words: most words of a span; 0 is no limit.

    Returns:
        Increasing numbers of candidates, greatest sum first found from the left.
    """
    count = len(margins)
    if not len(words):
        return []
    if not min_words and not max_words:
        return [int(i) for i in np.flatnonzero(margins > 0)]
    ends = np.concatenate([[0], np.cumsum(words)])  # words before cut node 0 .. C + 1
    gains = np.concatenate([[0.0], margins.astype(np.float64), [0.0]])
    previous = _best_path(gains, ends, min_words, max_words or int(ends[-1]))
    cuts = []
    node = previous[count + 1]
    while node > 0:
        cuts.append(int(node) - 1)
        node = previous[node]
    return cuts[::-1]


def _best_path(
    gains: NDArray[np.float64], ends: NDArray[np.int64], low: int, high: int
) -> NDArray[np.int64]:
    """The node before each node on the best path to it."""
    broken = -1e6
    best = np.full(len(gains), -np.inf)
    previous = np.zeros(len(gains), dtype=np.int64)
    best[0] = 0.0
    queue: deque[int] = deque()  # nodes inside the limits, best first
    entering = 0
    for node in range(1, len(gains)):
        while entering < node and ends[node] - ends[entering] >= low:
            while queue and best[queue[-1]] <= best[entering]:
                queue.pop()
            queue.append(entering)
            entering += 1
        while queue and ends[node] - ends[queue[0]] > high:
            queue.popleft()
        if queue:
            source, value = queue[0], best[queue[0]]
        else:
            # Nothing fits. Near the start every span is too short: none is cut. Elsewhere a
            # unit is too long: it stays whole.
            source = 0 if ends[node] < low else node - 1
            value = best[source] + broken
        best[node] = value + gains[node]
        previous[node] = source
    return previous
