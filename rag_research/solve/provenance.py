"""Where a triplet that a model returned comes from: the text, or the model's own knowledge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from rag_research.graph.heterogeneous import Relation
from rag_research.solve.placeholders import same_text
from rag_research.text.normalise import matching_form
from rag_research.text.sentences import split_sentences
from rag_research.types import Triplet

Inferred = Literal["hidden", "shown"]

_LINKING = frozenset(
    (
        "a",
        "an",
        "the",
        "of",
        "in",
        "on",
        "at",
        "by",
        "for",
        "from",
        "to",
        "with",
        "as",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
    )
)
_SAME_START, _ENDING = 4, 3


def origin_of(
    returned: Triplet, known: Sequence[Relation], chunks: Mapping[str, str]
) -> tuple[Relation, ...]:
    """What a triplet of a refining model's reply stands for.

    * It is a known one, word for word: that one.
    * A chunk states it (:func:`states`): ``refined``, from that chunk.
    * It connects two ends that known triplets connect, in words no chunk has: those known ones,
      in their own words.
    * Else ``inferred``, from no chunk.

    Args:
        returned: by the model.
        known: what the model was shown.
        chunks: text of each chunk, by id of its node.
    """
    if exact := tuple(r for r in known if _same(r.triplet, returned, (0, 1, 2))):
        return exact
    for chunk, text in chunks.items():
        if states(text, returned):
            return (Relation(returned, chunk, "refined"),)
    if reworded := tuple(r for r in known if _same(r.triplet, returned, (0, 2))):
        return reworded
    return (Relation(returned, "", "inferred"),)


def states(text: str, triplet: Triplet) -> bool:
    """Whether a text says a triplet literally.

    Its subject stands in the text, and one sentence has the object and the predicate's words,
    of which endings may differ (``directed``, ``director``) and small ones do not count; of a
    predicate of small words only, that sentence has the subject as well.
    """
    if not holds(text, triplet.subject):
        return False
    wanted = [w for w in matching_form(triplet.predicate).split() if w not in _LINKING]
    for sentence in split_sentences(text):
        if holds(sentence, triplet.object) and (wanted or holds(sentence, triplet.subject)):
            words = matching_form(sentence).split()
            if all(any(_same_word(want, word) for word in words) for want in wanted):
                return True
    return False


def names_both(text: str, triplet: Triplet) -> bool:
    """Whether subject and object both stand in a text."""
    return holds(text, triplet.subject) and holds(text, triplet.object)


def holds(text: str, words: str) -> bool:
    """Whether ``words`` stand in ``text``, case, spacing and punctuation aside."""
    form = matching_form(words)
    return bool(form) and f" {form} " in f" {matching_form(text)} "


def without_inferred(relations: Iterable[Relation]) -> tuple[Relation, ...]:
    """Only what the text supports."""
    return tuple(r for r in relations if r.origin != "inferred")


INFERRED: dict[str, Callable[[Iterable[Relation]], tuple[Relation, ...]]] = {
    "hidden": without_inferred,
    "shown": tuple,
}


def _same(a: Triplet, b: Triplet, slots: Iterable[int]) -> bool:
    left, right = tuple(a), tuple(b)
    return all(same_text(left[slot], right[slot]) for slot in slots)


def _same_word(a: str, b: str) -> bool:
    shared = next(
        (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )
    longest = max(len(a), len(b))
    return a == b or (shared >= _SAME_START and longest - shared <= _ENDING)
