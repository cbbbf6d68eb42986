"""Candidate passages of a question: what search finds, and what the corpus graph adds.

The second hop of a question is usually not found by the question alone, but the first names it.
Training and answering take their candidates from here, so they see the same graphs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rag_research.graph.corpus_graph import CorpusGraph
from rag_research.graph.next_hop import hop_queries, open_questions
from rag_research.graph.path_question import Asked
from rag_research.graph.ragged import among, gather_runs, ranks_in_groups
from rag_research.graph.title_words import titled_in_part
from rag_research.index.hybrid import fuse
from rag_research.runtime.threads import one_blas_thread
from rag_research.types import Hit

Integers = NDArray[np.int64]
Floats = NDArray[np.float32]
DEPTH = 100
ORIGINS = ("search", "question_title", "link", "shared_name", "title_words")


class Lexical(Protocol):
    """A lexical index over the same passages."""

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]: ...


@dataclass(frozen=True, slots=True)
class CandidateConfig:
    """How far candidates reach. 0 switches a source off.

    Args:
        found: best passages of the hybrid search (30).
        front: best of them that are expanded (10).
        titled: passages of one title (4).
        namers: passages that name the title of an expanded one (30).
        shared: passages that share one name with an expanded one, nearest to the query for the
            next hop (4).
        shared_in_all: the same over all its names (12).
        hub: names of more passages than this are not followed (400).
        title_words: passages of whose title an expanded one has most words (3).
        rounds: rounds of expansion; each next one starts at the best of what the last added (1).
    """

    found: int = 30
    front: int = 10
    titled: int = 4
    namers: int = 30
    shared: int = 4
    shared_in_all: int = 12
    hub: int = 400
    title_words: int = 3
    rounds: int = 1

    def __post_init__(self) -> None:
        if self.found < 1 or self.front < 1 or self.hub < 2:
            raise ValueError(
                f"needs found >= 1, front >= 1 and hub >= 2, got {self.found}, {self.front} and "
                f"{self.hub}"
            )
        reach = (self.titled, self.namers, self.shared, self.title_words)
        if min(*reach, self.rounds) < 0:
            raise ValueError("titled, namers, shared, title_words and rounds must not be negative")


@dataclass(frozen=True, slots=True)
class Found:
    """Candidate passages, M of them, in a defined order.

    Args:
        rows: of the corpus graph. [M]
        origin: number in :data:`ORIGINS`. [M]
        dense: cosine of every passage of the corpus with the question. [N]
        lists: score of each passage in the best :data:`DEPTH` of ``dense``, ``lexical`` and
            ``fused`` search, in the order of rank.
    """

    rows: Integers
    origin: Integers
    dense: Floats
    lists: Mapping[str, Mapping[int, float]]


@one_blas_thread()
def find_candidates(
    graph: CorpusGraph, lexical: Lexical, asked: Asked, config: CandidateConfig
) -> Found:
    """Candidates of a question.

    Time grows with the corpus only by one product of its vectors with the question's; what is
    followed is limited by ``config``.

    Args:
        graph: of the corpus; may be empty.
        lexical: searches the same passage ids.
        asked: the question.
        config: the limits.
    """
    dense: Floats = graph.tables.vectors @ asked.tokens.vector
    lists = _lists(graph, lexical, asked, dense)
    fused = lists["fused"]
    origin: dict[int, int] = dict.fromkeys(list(fused)[: config.found], 0)
    arrays = graph.arrays
    named = _titled(graph, asked.entities, dense, config.titled)
    _add(origin, named, 1)
    front = list(fused)[: config.front]
    front += [row for row in named.tolist() if row not in front][: config.front]
    for _ in range(config.rounds):
        start = np.array(front, np.int64)
        known = set(origin)
        mentioned, owner = gather_runs(arrays["mention_start"], start)
        entity = np.asarray(arrays["mention_entity"][mentioned], np.int64)
        _add(origin, _titled(graph, np.unique(entity), dense, config.titled), 2)
        _add(origin, _namers(graph, start, dense, fused, config), 2)
        _add(origin, _sharers(graph, asked, start, entity, owner, config), 3)
        if config.title_words:
            words, seen = np.sort(asked.numbers), np.sort(np.fromiter(origin, np.int64))
            _add(origin, titled_in_part(graph, words, start, seen, dense, config.title_words), 4)
        new = [row for row in origin if row not in known]
        front = sorted(new, key=lambda row: (-dense[row], row))[: config.front]
    rows = np.fromiter(origin, np.int64, len(origin))
    kinds = np.fromiter(origin.values(), np.int64, len(origin))
    return Found(rows, kinds, dense, lists)


def _add(origin: dict[int, int], rows: Integers, kind: int) -> None:
    for row in rows.tolist():
        origin.setdefault(row, kind)


def _lists(
    graph: CorpusGraph, lexical: Lexical, asked: Asked, dense: Floats
) -> Mapping[str, Mapping[int, float]]:
    best = _top(dense, DEPTH)
    near = [Hit(graph.ids[row], float(dense[row])) for row in best.tolist()]
    worded = lexical.search([asked.text], DEPTH)[0]
    both = fuse([worded, near], "min_max", DEPTH)
    rows = graph.rows
    found = {"dense": near, "lexical": worded, "fused": both}
    return {name: {rows[hit.id]: hit.score for hit in hits} for name, hits in found.items()}


def _top(scores: Floats, count: int) -> Integers:
    """The best, ties in order of rows, also at the cut."""
    if len(scores) > count:
        least = np.partition(scores, len(scores) - count)[len(scores) - count]
        kept = np.flatnonzero(scores >= least)
        return kept[np.argsort(-scores[kept], kind="stable")][:count]
    return np.argsort(-scores, kind="stable")


def _titled(graph: CorpusGraph, entities: Integers, dense: Floats, limit: int) -> Integers:
    """Of each title among ``entities`` the passages nearest the question."""
    at, group = gather_runs(graph.arrays["titled_start"], entities)
    rows = np.asarray(graph.arrays["titled_passages"][at], np.int64)
    return rows[ranks_in_groups(group, dense[rows]) < limit]


def _namers(
    graph: CorpusGraph,
    front: Integers,
    dense: Floats,
    fused: Mapping[int, float],
    config: CandidateConfig,
) -> Integers:
    """Passages that name the title of one in ``front``, unless the title is a hub."""
    title = np.asarray(graph.arrays["title_entity"][front], np.int64)
    title = np.unique(title[title >= 0])
    start = graph.arrays["entity_start"]
    title = title[start[title + 1] - start[title] <= 3 * config.namers]
    at, group = gather_runs(start, title)
    rows = np.asarray(graph.arrays["entity_passages"][at], np.int64)
    score = dense[rows] * 0.01
    score += np.array([fused.get(row, 0.0) for row in rows.tolist()], np.float32)
    return rows[ranks_in_groups(group, score) < config.namers]


def _sharers(
    graph: CorpusGraph,
    asked: Asked,
    front: Integers,
    entity: Integers,
    owner: Integers,
    config: CandidateConfig,
) -> Integers:
    """Passages that share a name with one in ``front`` and best meet what that leaves open.

    Names of the question lead nowhere new.
    """
    start = graph.arrays["entity_start"]
    df = start[entity + 1] - start[entity]
    live = (df >= 2) & (df <= config.hub) & ~among(entity, asked.entities)
    pairs = np.unique(owner[live] * len(start) + entity[live])
    if not len(pairs):
        return np.empty(0, np.int64)
    own, names = np.divmod(pairs, len(start))
    queries = hop_queries(graph, open_questions(graph, asked, front), own, names)
    at, group = gather_runs(start, names)
    rows = np.asarray(graph.arrays["entity_passages"][at], np.int64)
    distinct, place = np.unique(rows, return_inverse=True)
    score = queries.paired(graph.tables.vectors.take(distinct, axis=0), group, place)
    kept = ranks_in_groups(group, score) < config.shared
    rows, group, score = rows[kept], group[kept], score[kept]
    return rows[ranks_in_groups(own[group], score) < config.shared_in_all]
