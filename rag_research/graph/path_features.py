"""What the path selector sees: features of candidate passages, of their edges and sentences.

Nothing but the question, the corpus text and frozen encoders goes in: no ids, no row numbers.
Every feature belongs to a group, so that a group can be switched off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag_research.graph.anchors import positive
from rag_research.graph.corpus_graph import CorpusGraph
from rag_research.graph.path_candidates import DEPTH, ORIGINS, Found
from rag_research.graph.path_edges import Edges, edge_features
from rag_research.graph.path_evidence import Evidence, gather_evidence
from rag_research.graph.path_question import Asked
from rag_research.graph.ragged import among
from rag_research.runtime.threads import one_blas_thread

VERSION = 5
ANCHORS = 3
ENTITY_BOOST = 0.5

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]

NODE_FEATURES: Mapping[str, tuple[str, ...]] = {
    "dense": ("cosine", "cosine_behind_best", "best_sentence", "sentence_lead"),
    "search": ("bm25", "dense_rank", "bm25_rank", "fused_rank", "fused", "fused_behind_best"),
    "words": ("words_covered", "title_words_covered", "title_share_asked"),
    "tokens": ("match", "match_plain", "excess", "share_best", "match_behind_best"),
    "names": ("titled_in_question", "names_of_question", "title_hub", "title_repeats", "edges"),
    "origin": tuple(f"from_{name}" for name in ORIGINS),
    "question": ("question_titles", "question_length", "length"),
}
SENTENCE_FEATURES = (
    "cosine",
    "cosine_behind_passage",
    "cosine_behind_best",
    "position",
    "is_first",
    "length",
    "question_names",
    "leads_on",
)


@dataclass(frozen=True, slots=True)
class PathGraph:
    """A question's candidates as arrays: N passages, E directed edges, S sentences.

    Args:
        rows: of the corpus graph. [N]
        nodes: features, groups in the order of :data:`NODE_FEATURES`. [N, F]
        edges: both ends, features and published weight of every edge.
        prior: initial energy of the published anchors, sum 1. [N]
        sentences: features. [S, 8]
        sentence_owner: passage of each sentence, ascending. [S]
        sentence_rows: sentences of the corpus graph. [S]
    """

    rows: Integers
    nodes: Floats
    edges: Edges
    prior: Floats
    sentences: Floats
    sentence_owner: Integers
    sentence_rows: Integers


@one_blas_thread()
def path_graph(graph: CorpusGraph, asked: Asked, found: Found) -> PathGraph:
    """Features of a question's candidates.

    Args:
        graph: of the corpus.
        asked: the question.
        found: its candidates.
    """
    evidence = gather_evidence(graph, asked, found.rows)
    edges = edge_features(graph, asked, found, evidence)
    nodes = _nodes(graph, asked, found, evidence, edges)
    asked_names = max(1, len(asked.entities))
    scores = found.dense[found.rows] + ENTITY_BOOST * evidence.asked_names / asked_names
    anchors = np.argsort(-scores, kind="stable")[:ANCHORS]
    prior = positive(scores.astype(np.float64), anchors.tolist()).astype(np.float32)
    sentences = _sentences(found, evidence, edges)
    return PathGraph(found.rows, nodes, edges, prior, sentences, evidence.owner, evidence.places)


def _nodes(
    graph: CorpusGraph, asked: Asked, found: Found, evidence: Evidence, edges: Edges
) -> Floats:
    rows, arrays = found.rows, graph.arrays
    count = len(rows)
    if not count:
        return np.empty((0, sum(map(len, NODE_FEATURES.values()))), np.float32)
    cosine = found.dense[rows]
    ranks = {name: dict(zip(own, range(DEPTH), strict=False)) for name, own in found.lists.items()}
    listed = rows.tolist()

    def rank(name: str) -> Floats:
        return np.log1p([ranks[name].get(row, 1.5 * DEPTH) for row in listed])

    def score(name: str) -> Floats:
        return np.array([found.lists[name].get(row, 0.0) for row in listed], np.float32)

    lexical, fused = score("lexical"), score("fused")
    match = evidence.matches @ asked.token_weights
    title = np.asarray(arrays["title_entity"][rows], np.int64)
    best = evidence.matches >= evidence.matches.max(axis=0) - 1e-6
    columns = [
        cosine,
        cosine - cosine.max(),
        evidence.best_sentence,
        evidence.best_sentence - cosine,
        lexical / max(lexical.max(), 1e-6),
        rank("dense"),
        rank("lexical"),
        rank("fused"),
        fused,
        fused - fused.max(),
        evidence.words @ asked.weights,
        evidence.title_words @ asked.weights,
        evidence.title_share,
        match,
        evidence.matches.sum(axis=1) / max(evidence.matches.shape[1], 1),
        evidence.excess @ asked.token_weights,
        best @ asked.token_weights,
        match - match.max(),
        among(title, asked.entities),
        evidence.asked_idf,
        np.log1p(graph.title_named[rows]),
        np.log(np.maximum(graph.title_shared[rows], 1)),
        np.log1p(np.bincount(edges.target, minlength=count)),
        *(found.origin == number for number in range(len(ORIGINS))),
        np.full(count, evidence.asked_titles),
        np.full(count, len(asked.words) / 10),
        np.log1p(arrays["length"][rows]),
    ]
    return np.stack([np.asarray(column, np.float32) for column in columns], axis=1)


def _sentences(found: Found, evidence: Evidence, edges: Edges) -> Floats:
    owner, cosine = evidence.owner, evidence.sentence_cosine
    if not len(owner):
        return np.empty((0, len(SENTENCE_FEATURES)), np.float32)
    first = np.searchsorted(owner, owner)
    position = np.arange(len(owner)) - first
    columns = [
        cosine,
        cosine - evidence.best_sentence[owner],
        cosine - cosine.max(),
        np.log1p(position),
        position == 0,
        evidence.sentence_length,
        evidence.sentence_asked_idf,
        edges.leads_on,
    ]
    return np.stack([np.asarray(column, np.float32) for column in columns], axis=1)
