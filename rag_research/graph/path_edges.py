"""Edges between candidate passages: shared names, links, likeness, and what one adds to another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_research.graph.corpus_graph import CorpusGraph
from rag_research.graph.next_hop import Hops, hop_scores
from rag_research.graph.path_candidates import Found
from rag_research.graph.path_evidence import Evidence
from rag_research.graph.path_question import Asked
from rag_research.graph.ragged import among, pairs_in_groups, reduce_by_key
from rag_research.graph.title_words import COVERED, TitleCover, title_cover
from rag_research.graph.topology import TopologyConfig
from rag_research.graph.weights import WEIGHTS

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]
Columns = dict[str, NDArray[Any]]

NEAREST = 3  # nearest candidates each one is joined with
HEADS = 8  # best candidates of the search are joined with all
HUB = 40  # a name that more candidates share joins none

EDGE_FEATURES: Mapping[str, tuple[str, ...]] = {
    "shared": ("shared_idf", "shared_count", "asked_shared_idf", "same_title"),
    "link": ("names_target", "named_by_target", "new_names_target", "new_named_by_target", "both"),
    "bridge": (
        "linking_sentence",
        "linked_sentence",
        "source_sentence",
        "target_sentence",
        "weaker_sentence",
        "sentences_by_idf",
    ),
    "likeness": ("cosine", "expanded", "residual"),
    "tokens": ("token_gain", "token_union", "excess_gain", "excess_union"),
    "words": ("word_gain", "word_union"),
    "hubs": ("target_hub", "source_hub"),
    "next_hop": ("hop", "hop_behind_best", "hop_rank", "hop_gain", "own_hop", "own_hop_rank"),
    "title_words": (
        "title_share",
        "title_fresh",
        "title_weight",
        "own_title_share",
        "own_title_fresh",
        "own_title_weight",
    ),
}


@dataclass(frozen=True, slots=True)
class Edges:
    """E directed edges between N candidates; both directions of each are there or neither.

    Args:
        source, target: sorted by source, then target. [E]
        features: groups in the order of :data:`EDGE_FEATURES`. [E, A]
        weight: the published blend of reading order, cosine and shared names. [E]
        leads_on: for each sentence, the highest cosine to the question of a candidate that
            shares a name with it which the question lacks; 0 without one. [S]
    """

    source: Integers
    target: Integers
    features: Floats
    weight: Floats
    leads_on: Floats


def edge_features(graph: CorpusGraph, asked: Asked, found: Found, evidence: Evidence) -> Edges:
    """Join candidates and describe each edge.

    Args:
        graph: of the corpus.
        asked: the question.
        found: N candidates.
        evidence: how they meet the question.
    """
    rows, count = found.rows, len(found.rows)
    vectors = np.asarray(graph.tables.vectors[rows], np.float32)
    cosine = vectors @ vectors.T
    key, shared, leads_on = _shared_names(graph, asked, found, evidence)
    cover = title_cover(graph, np.sort(asked.numbers), rows)
    hops = hop_scores(
        graph, asked, evidence.words, evidence.mention_owner, evidence.mention_entity, vectors
    )
    joined = _joined(key, cosine, cover, hops, found)
    source, target = np.nonzero(joined)
    where = np.searchsorted(source * count + target, key)
    columns: Columns = {}
    for name, values in shared.items():
        columns[name] = np.zeros(len(source), np.float32)
        columns[name][where] = values
    title = np.asarray(graph.arrays["title_entity"][rows], np.int64)
    columns["same_title"] = (title[source] == title[target]) & (title[source] >= 0)
    columns |= _likeness(vectors, cosine, asked.tokens.vector, source, target)
    columns |= _gains(asked, evidence, source, target)
    hub = np.log1p(graph.title_named[rows])
    columns |= {"target_hub": hub[target], "source_hub": hub[source]}
    for name, values in cover._asdict().items():
        columns[f"title_{name}"] = values[source, target]
        columns[f"own_title_{name}"] = values[target, source]
    columns |= _next_hop(hops, found.dense[rows], source, target)
    weight = _published(graph, rows, columns, evidence, source, target)
    order = [name for group in EDGE_FEATURES.values() for name in group]
    features = np.stack([np.asarray(columns[n], np.float32) for n in order], axis=1)
    return Edges(source, target, features, weight, leads_on)


def _shared_names(
    graph: CorpusGraph, asked: Asked, found: Found, evidence: Evidence
) -> tuple[Integers, Columns, Floats]:
    """Pairs of candidates that share a name, as ``source * N + target``, and their columns."""
    entity, owner = evidence.mention_entity, evidence.mention_owner
    _, place, times = np.unique(entity, return_inverse=True, return_counts=True)
    live = np.flatnonzero((times[place] >= 2) & (times[place] <= HUB))
    live = live[np.argsort(entity[live], kind="stable")]
    one, other = pairs_in_groups(entity[live])
    one, other = live[one], live[other]
    name = entity[one]
    new = ~among(name, asked.entities)
    idf = graph.entity_idf[name] if len(name) else np.empty(0, np.float32)
    title = np.asarray(graph.arrays["title_entity"][found.rows], np.int64)
    to, back = title[owner[other]] == name, title[owner[one]] == name
    near, far = evidence.mention_cosine[one], evidence.mention_cosine[other]
    columns = {
        "shared_idf": np.where(new, idf, 0),
        "shared_count": new.astype(np.float32),
        "all_shared": np.ones(len(name), np.float32),
        "asked_shared_idf": np.where(new, 0, idf),
        "names_target": to.astype(np.float32),
        "named_by_target": back.astype(np.float32),
        "new_names_target": (to & new).astype(np.float32),
        "new_named_by_target": (back & new).astype(np.float32),
        "both": (to & back).astype(np.float32),
        "linking_sentence": np.where(to, near, 0),
        "linked_sentence": np.where(back, far, 0),
        "source_sentence": np.where(new, near, 0),
        "target_sentence": np.where(new, far, 0),
        "weaker_sentence": np.where(new, np.minimum(near, far), 0),
        "sentences_by_idf": np.where(new, (near + far) * idf, 0),
    }
    leads_on = np.zeros(len(evidence.places), np.float32)
    cosine = found.dense[found.rows]
    np.maximum.at(leads_on, evidence.mention_sentence[one[new]], cosine[owner[other[new]]])
    key = owner[one] * len(found.rows) + owner[other]
    key, columns = reduce_by_key(key, columns, sums=("shared_count", "all_shared"))
    return key, columns, leads_on


def _joined(
    key: Integers, cosine: Floats, cover: TitleCover, hops: Hops, found: Found
) -> NDArray[np.bool_]:
    count = len(cosine)
    joined = (cover.fresh >= COVERED) | (hops.rank < NEAREST)
    joined.ravel()[key] = True
    if count > NEAREST:
        apart = cosine.copy()
        np.fill_diagonal(apart, -2.0)
        near = np.argpartition(-apart, NEAREST - 1, axis=1)[:, :NEAREST]
        joined[np.arange(count)[:, None], near] = True
    fused = [found.lists["fused"].get(row, 0.0) for row in found.rows.tolist()]
    score = np.array(fused, np.float32) + 0.01 * found.dense[found.rows]
    joined[np.argsort(-score, kind="stable")[:HEADS]] = True
    joined |= joined.T
    np.fill_diagonal(joined, False)
    return joined


def _next_hop(hops: Hops, own: Floats, source: Integers, target: Integers) -> Columns:
    """How well the target meets the source's query for the next hop, and the other way round."""
    score, rank = hops.score, np.log1p(hops.rank)
    best = score.max(axis=1, initial=0.0)
    return {
        "hop": score[source, target],
        "hop_behind_best": score[source, target] - best[source],
        "hop_rank": rank[source, target],
        "hop_gain": score[source, target] - own[target],
        "own_hop": score[target, source],
        "own_hop_rank": rank[target, source],
    }


def _likeness(
    vectors: Floats, cosine: Floats, question: Floats, source: Integers, target: Integers
) -> Columns:
    """Cosine of the ends; of the target with question + source, and with question - source."""
    own = vectors @ question
    # Norms of q + v and q - (q.v) v for unit vectors, without forming them.
    both = np.sqrt(np.maximum(2 + 2 * own, 1e-9))
    rest = np.sqrt(np.maximum(1 - own**2, 1e-9))
    between = cosine[source, target]
    return {
        "cosine": between,
        "expanded": (own[target] + between) / both[source],
        "residual": (own[target] - own[source] * between) / rest[source],
    }


def _gains(asked: Asked, evidence: Evidence, source: Integers, target: Integers) -> Columns:
    """What the target has beyond the source, and what both have, of a question's parts."""
    parts = {
        "token": (evidence.matches, asked.token_weights),
        "excess": (evidence.excess, asked.token_weights),
        "word": (evidence.words, asked.weights),
    }
    values = np.concatenate([table for table, _ in parts.values()], axis=1)
    weights = np.zeros((values.shape[1], len(parts)), np.float32)
    last = 0
    for number, (_, own) in enumerate(parts.values()):
        first, last = last, last + len(own)
        weights[first:last, number] = own
    # What both have is the same in both directions, so one of them is computed.
    one, other = source[source < target], target[source < target]
    union = np.empty((len(values), len(values), len(parts)), np.float32)
    union[one, other] = union[other, one] = np.maximum(values[one], values[other]) @ weights
    both = union[source, target]
    gain = both - (values @ weights)[source]
    columns: Columns = {f"{name}_union": both[:, n] for n, name in enumerate(parts)}
    return columns | {f"{name}_gain": gain[:, n] for n, name in enumerate(parts)}


def _published(
    graph: CorpusGraph,
    rows: Integers,
    columns: Columns,
    evidence: Evidence,
    source: Integers,
    target: Integers,
) -> Floats:
    config = TopologyConfig()
    arrays = graph.arrays
    document, position = arrays["document"][rows], arrays["position"][rows]
    beside = np.abs(position[source] - position[target]) == 1
    narrative = (document[source] == document[target]) & beside
    semantic = np.where(columns["cosine"] >= config.cosine, columns["cosine"], 0.0)
    names = np.bincount(evidence.mention_owner, minlength=len(rows))
    either = names[source] + names[target] - columns["all_shared"]
    jaccard = columns["all_shared"] / np.maximum(either, 1)
    lexical = np.where(jaccard >= config.jaccard, jaccard, 0.0)
    values = np.stack([narrative, semantic, lexical], axis=1).astype(np.float64)
    weight = WEIGHTS[config.weights](values, config.alpha, config.beta, config.gamma)
    return weight.astype(np.float32)
