"""What one prompt holds of the evidence: texts up to a number of words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from rag_research.graph.subgraph import Element
from rag_research.text.chunks import WORD, chunk

EVIDENCE_WORDS = 3500


def fitting(
    elements: Sequence[Element], words: int, first: Collection[Element] = ()
) -> tuple[tuple[Element, ...], int]:
    """The elements whose texts fit, in their order, each text once.

    Those of ``first`` are taken before the others. The first one is always taken, cut where it
    is longer than the limit alone; of the others, one that no longer fits is left out, and a
    shorter one after it may still fit.

    Args:
        elements: best first.
        words: most words of all texts together, counted as in :mod:`rag_research.text.chunks`.
        first: which of them come before the others.

    Returns:
        The elements, and how many texts were left out.
    """
    by_text: dict[str, Element] = {}
    for element in elements:
        if text := element.text.strip():
            by_text.setdefault(text, element)
    preferred = {element.text.strip() for element in first}
    taken: dict[str, Element] = {}
    left = words
    for text in sorted(by_text, key=lambda text: text not in preferred):
        size = len(WORD.findall(text))
        if size <= left or not taken:
            taken[text] = cut(by_text[text], words)
            left -= size
    shown = tuple(taken[text] for text in by_text if text in taken)
    return shown, len(by_text) - len(shown)


def cut(element: Element, words: int) -> Element:
    """The element with the first ``words`` words of its text; itself where it has no more."""
    windows = chunk(element.text, words, 0)
    if len(windows) < 2:
        return element
    return replace(element, text=element.text[: windows[0][1]].rstrip())
