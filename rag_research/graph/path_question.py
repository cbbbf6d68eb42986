"""A question as the candidate graph sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag_research.embed.token_store import QueryTokens
from rag_research.graph.corpus_entities import Word, folded_words, name_key
from rag_research.graph.corpus_graph import STOP_WORD_WEIGHT, CorpusGraph
from rag_research.text.entities import capitalised_offsets

Integers = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as the candidate graph sees it.

    Args:
        text: of the question.
        tokens: its vector and token states.
        words: its distinct folded words, in order.
        numbers: their numbers in the corpus, -1 where unknown. [W]
        weights: their weights, sum 1. [W]
        entities: numbers of the entities it names, ascending.
        token_words: which of ``words`` each of its tokens belongs to, -1 for punctuation. [T]
        token_weights: weight of that word, little for punctuation; sum 1. [T]
    """

    text: str
    tokens: QueryTokens
    words: tuple[str, ...]
    numbers: Integers
    weights: Floats
    entities: Integers
    token_words: Integers
    token_weights: Floats


def ask(graph: CorpusGraph, text: str, tokens: QueryTokens) -> Asked:
    """Look a question's words and names up in the corpus.

    Names start with a capital letter, unless the whole question is typed in small ones.

    Args:
        graph: of the corpus.
        text: the question.
        tokens: of the same text.
    """
    words = folded_words(text)
    distinct = tuple(dict.fromkeys(word for word, _, _ in words))
    numbers, weights = graph.words_of(distinct)
    if text.islower():
        entities = graph.entities_in([word for word, _, _ in words])
    else:
        entities = graph.entities_of(_names(graph, text, words))
    token_words = _words_of_tokens(words, distinct, tokens)
    weights = weights / max(weights.sum(), 1e-9)
    return Asked(
        text,
        tokens,
        distinct,
        numbers,
        weights,
        np.unique(entities),
        token_words,
        _token_weights(weights, token_words),
    )


def _names(graph: CorpusGraph, text: str, words: Sequence[Word]) -> list[str]:
    titles = [key for key, _, _ in graph.names.find(text, words)]
    runs = [
        name_key([w for w, a, b in words if a >= start and b <= end])
        for start, end in capitalised_offsets(text)
    ]
    return list(dict.fromkeys([*titles, *runs]))


def _words_of_tokens(
    words: Sequence[Word], distinct: Sequence[str], tokens: QueryTokens
) -> Integers:
    number = {word: n for n, word in enumerate(distinct)}
    starts = np.array([start for _, start, _ in words], np.int64)
    first = tokens.offsets[:, 0]
    place = np.searchsorted(starts, first, "right") - 1
    return np.array(
        [
            number[words[p][0]] if p >= 0 and at < words[p][2] else -1
            for p, at in zip(place.tolist(), first.tolist(), strict=True)
        ],
        np.int64,
    )


def _token_weights(weights: Floats, words: Integers) -> Floats:
    least = min(STOP_WORD_WEIGHT, weights.min(initial=np.inf)) if len(weights) else 1.0
    found = np.append(weights, least).astype(np.float32)[words]
    share: Floats = found / max(float(found.sum()), 1e-9)
    return share
