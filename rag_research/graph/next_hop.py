"""Queries for the next hop: what a passage leaves open of a question, asked of a name it gives.

A question of several hops asks something of a thing it does not name. Where a passage names it,
the next passage is near the mean of two vectors: of the question's words that the passage lacks,
and of the name. Both are at hand, so a query costs no pass of the encoder.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rag_research.graph.corpus_graph import CorpusGraph
from rag_research.graph.path_question import Asked
from rag_research.graph.ragged import among, largest_of_runs
from rag_research.graph.title_words import words_present

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]


def open_questions(graph: CorpusGraph, asked: Asked, rows: Integers) -> Floats:
    """What each passage leaves open: the mean of the question's tokens whose words it lacks.

    Tokens weigh what their words do. Where a passage has every word, the whole question.

    Args:
        graph: of the corpus.
        asked: the question.
        rows: M passages.

    Returns:
        Unit vectors.

    Shapes:
        [M] -> [M, D]
    """
    return rest_vectors(asked, words_present(graph.arrays, "word", asked.numbers, rows))


def rest_vectors(asked: Asked, words: Floats) -> Floats:
    """:func:`open_questions` of passages of which is known which words they have.

    Shapes:
        [M, W] -> [M, D]
    """
    lacks = np.zeros((len(words), words.shape[1] + 1), np.float32)  # the last: punctuation
    lacks[:, :-1] = 1 - words
    left = lacks[:, asked.token_words] * asked.token_weights
    rest: Floats = left @ asked.tokens.states
    size = np.linalg.norm(rest, axis=1, keepdims=True)
    return np.where(size > 1e-6, rest / np.maximum(size, 1e-6), asked.tokens.vector)


class HopQueries(NamedTuple):
    """Q queries, each the mean of one passage's open question and one name.

    Args:
        rest: see :func:`open_questions`. [M, D]
        names: unit vectors of distinct names. [B, D]
        owner: which of ``rest``. [Q]
        name: which of ``names``. [Q]
        size: length of the sum of both. [Q]
    """

    rest: Floats
    names: Floats
    owner: Integers
    name: Integers
    size: Floats

    def cosines(self, vectors: Floats) -> Floats:
        """With every vector.

        Shapes:
            [N, D] unit -> [Q, N]
        """
        cosine = (self.rest @ vectors.T)[self.owner]
        cosine += (self.names @ vectors.T)[self.name]
        cosine /= self.size[:, None]
        return cosine

    def paired(self, vectors: Floats, query: Integers, row: Integers) -> Floats:
        """Of some queries with one vector each.

        Shapes:
            [N, D] unit, [P], [P] -> [P]
        """
        rest, names = vectors @ self.rest.T, vectors @ self.names.T
        cosine: Floats = rest[row, self.owner[query]] + names[row, self.name[query]]
        return cosine / self.size[query]


def hop_queries(graph: CorpusGraph, rest: Floats, owner: Integers, entity: Integers) -> HopQueries:
    """Queries of pairs of a passage and a name.

    Args:
        graph: of the corpus.
        rest: see :func:`open_questions`. [M, D]
        owner: a passage of each of Q names. [Q]
        entity: the names; each is one of at least two passages. [Q]
    """
    bridges, name = np.unique(graph.bridge_of[entity], return_inverse=True)
    names = np.asarray(graph.bridges[bridges], np.float32)
    both = (rest @ names.T)[owner, name]
    return HopQueries(rest, names, owner, name, np.sqrt(np.maximum(2 + 2 * both, 1e-6)))


class Hops(NamedTuple):
    """N candidates by what each leaves open, ``[source, target]``.

    Args:
        score: highest cosine of the target with a query of the source; 0 to itself, and from a
            passage whose names lead nowhere. [N, N]
        rank: of the target by that, from 0; N where the score is not above 0. [N, N]
    """

    score: Floats
    rank: NDArray[np.int32]


def hop_scores(
    graph: CorpusGraph,
    asked: Asked,
    words: Floats,
    owner: Integers,
    entity: Integers,
    vectors: Floats,
) -> Hops:
    """Ask for the next hop after each candidate, among all of them.

    Args:
        graph: of the corpus.
        asked: the question.
        words: which of its words each of N candidates has. [N, W]
        owner: candidate of each of R names, ascending. [R]
        entity: the names. [R]
        vectors: unit, of the candidates. [N, D]
    """
    count = len(vectors)
    live = (graph.bridge_of[entity] >= 0) & ~among(entity, asked.entities)
    queries = hop_queries(graph, rest_vectors(asked, words), owner[live], entity[live])
    score = largest_of_runs(queries.cosines(vectors), owner[live], count, empty=0.0)
    np.fill_diagonal(score, 0.0)
    order = np.argsort(-score, axis=1)
    rank = np.empty((count, count), np.int32)
    np.put_along_axis(rank, order, np.arange(count, dtype=np.int32)[None], axis=1)
    rank[score <= 0] = count
    return Hops(score, rank)
