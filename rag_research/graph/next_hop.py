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


class OpenQuestions(NamedTuple):
    """What M passages leave open of a question of T tokens, as ``shares @ parts``.

    Left apart, because the parts are far fewer than what is multiplied with them.

    Args:
        shares: of each part. [M, T + 1]
        parts: states of the tokens, and the vector of the whole question. [T + 1, D]
    """

    shares: Floats
    parts: Floats

    @property
    def vectors(self) -> Floats:
        """Unit vectors. [M, D]"""
        return self.shares @ self.parts

    def cosines(self, vectors: Floats) -> Floats:
        """With every vector.

        Shapes:
            [N, D] unit -> [M, N]
        """
        return self.shares @ (self.parts @ vectors.T)


def open_questions(graph: CorpusGraph, asked: Asked, rows: Integers) -> OpenQuestions:
    """What each passage leaves open: the mean of the question's tokens whose words it lacks.

    Tokens weigh what their words do. Where a passage has every word, the whole question.

    Args:
        graph: of the corpus.
        asked: the question.
        rows: M passages.
    """
    return left_open(asked, words_present(graph.arrays, "word", asked.numbers, rows))


def left_open(asked: Asked, words: Floats) -> OpenQuestions:
    """:func:`open_questions` of passages of which is known which words they have.

    Shapes:
        [M, W] -> M
    """
    lacks = np.zeros((len(words), words.shape[1] + 1), np.float32)  # the last: punctuation
    lacks[:, :-1] = 1 - words
    shares = np.zeros((len(words), len(asked.token_words) + 1), np.float32)
    shares[:, :-1] = lacks[:, asked.token_words] * asked.token_weights
    parts = np.concatenate([asked.tokens.states, asked.tokens.vector[None]])
    size = np.linalg.norm(shares @ parts, axis=1, keepdims=True)
    shares /= np.maximum(size, 1e-6)
    whole = size[:, 0] <= 1e-6
    shares[whole] = 0.0
    shares[whole, -1] = 1.0
    return OpenQuestions(shares, parts)


class HopQueries(NamedTuple):
    """Q queries, each the mean of one passage's open question and one name.

    Args:
        rest: of M passages.
        names: unit vectors of distinct names. [B, D]
        owner: which of ``rest``. [Q]
        name: which of ``names``. [Q]
        size: length of the sum of both. [Q]
    """

    rest: OpenQuestions
    names: Floats
    owner: Integers
    name: Integers
    size: Floats

    def cosines(self, vectors: Floats) -> Floats:
        """With every vector.

        Shapes:
            [N, D] unit -> [Q, N]
        """
        cosine = self.rest.cosines(vectors).take(self.owner, axis=0)
        cosine += (self.names @ vectors.T).take(self.name, axis=0)
        cosine /= self.size[:, None]
        return cosine

    def paired(self, vectors: Floats, query: Integers, row: Integers) -> Floats:
        """Of some queries with one vector each.

        Shapes:
            [N, D] unit, [P], [P] -> [P]
        """
        rest, names = self.rest.cosines(vectors), self.names @ vectors.T
        cosine: Floats = rest[self.owner[query], row] + names[self.name[query], row]
        return cosine / self.size[query]


def hop_queries(
    graph: CorpusGraph, rest: OpenQuestions, owner: Integers, entity: Integers
) -> HopQueries:
    """Queries of pairs of a passage and a name.

    Args:
        graph: of the corpus.
        rest: of M passages.
        owner: a passage of each of Q names. [Q]
        entity: the names; each is one of at least two passages. [Q]
    """
    bridges, name = np.unique(graph.bridge_of[entity], return_inverse=True)
    names = np.asarray(graph.bridges.take(bridges, axis=0), np.float32)
    both = rest.cosines(names)[owner, name]
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
    queries = hop_queries(graph, left_open(asked, words), owner[live], entity[live])
    score = largest_of_runs(queries.cosines(vectors), owner[live], count, empty=0.0)
    np.fill_diagonal(score, 0.0)
    order = np.argsort(-score, axis=1)
    rank = np.empty((count, count), np.int32)
    np.put_along_axis(rank, order, np.arange(count, dtype=np.int32)[None], axis=1)
    rank[score <= 0] = count
    return Hops(score, rank)
