"""T2RAG's knowledge base: one proposition a triplet, every proposition with all its sources.

No graph is built. A proposition found in several passages is indexed once and keeps every
passage it came from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rag_research.index.base import Retriever, ranked
from rag_research.types import Hit, Triplet

FIRST_DEPTH = 64


@dataclass(frozen=True, slots=True)
class Proposition:
    """A verbalised triplet.

    Args:
        id: hash of the text, so that it depends on nothing but the text.
        text: ``"{subject} {predicate} {object}"``.
        triplet: the triplet it was made of.
        sources: ids of every passage that states it, in corpus order.
    """

    id: str
    text: str
    triplet: Triplet
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Selection:
    """What one retrieval round hands to the model.

    Args:
        propositions: best first.
        sources: the passages they came from, best first.
    """

    propositions: tuple[Hit, ...]
    sources: tuple[Hit, ...]


def collect_propositions(
    triplets: Mapping[str, Sequence[Triplet]],
) -> dict[str, Proposition]:
    """Verbalise triplets and merge those with the same text.

    Args:
        triplets: passage id -> its triplets, in corpus order.

    Returns:
        Proposition id -> proposition, in order of first occurrence.
    """
    found: dict[str, tuple[str, Triplet, dict[str, None]]] = {}
    for passage_id, of_passage in triplets.items():
        for triplet in of_passage:
            text = triplet.proposition
            id = hashlib.sha256(text.encode()).hexdigest()[:16]
            found.setdefault(id, (text, triplet, {}))[2][passage_id] = None
    return {
        id: Proposition(id, text, triplet, tuple(sources))
        for id, (text, triplet, sources) in found.items()
    }


def last_source_only(propositions: Mapping[str, Proposition]) -> dict[str, Proposition]:
    """What the released T2RAG code does with a proposition of several passages."""
    return {
        id: Proposition(p.id, p.text, p.triplet, p.sources[-1:]) for id, p in propositions.items()
    }


def until_unique_sources(
    pool: Sequence[Hit], propositions: Mapping[str, Proposition], k: int
) -> Selection:
    """Walk the pool until propositions from ``k`` unique passages are collected.

    Propositions of passages already counted are kept on the way.
    """
    kept: list[Hit] = []
    sources: dict[str, Hit] = {}
    for hit in pool:
        if len(sources) >= k:
            break
        kept.append(hit)
        for source in propositions[hit.id].sources:
            if len(sources) < k:
                sources.setdefault(source, Hit(source, hit.score))
    return Selection(tuple(kept), tuple(sources.values()))


def top_propositions(
    pool: Sequence[Hit], propositions: Mapping[str, Proposition], k: int
) -> Selection:
    """The ablation: the best ``k`` propositions, however few passages they come from."""
    sources: dict[str, Hit] = {}
    for hit in pool[:k]:
        for source in propositions[hit.id].sources:
            sources.setdefault(source, Hit(source, hit.score))
    return Selection(tuple(pool[:k]), tuple(sources.values()))


Budget = Callable[[Sequence[Hit], Mapping[str, Proposition], int], Selection]
BUDGETS: dict[str, Budget] = {
    "unique_chunks": until_unique_sources,
    "propositions": top_propositions,
}


def search_globally(
    retriever: Retriever,
    propositions: Mapping[str, Proposition],
    queries: Sequence[str],
    k: int,
    budget: Budget,
) -> Selection:
    """All hits of all queries in one pool, ranked by similarity, cut by ``budget``.

    The pool is deepened until the budget is met and no hit beyond the depth could come before
    the last proposition that was chosen, or the collection ends.
    """
    depth = FIRST_DEPTH
    while True:
        lists = retriever.search(queries, depth)
        pool = _merge(lists)
        selection = budget(pool, propositions, k)
        met = len(selection.sources) >= k or len(pool) > len(selection.propositions)
        if depth >= len(propositions) or (met and not _hides(lists, depth, selection)):
            return selection
        depth *= 4


def _hides(lists: Sequence[Sequence[Hit]], depth: int, selection: Selection) -> bool:
    """Whether a list that ``depth`` cut may go on with hits before the last one chosen."""
    last = max((-hit.score, hit.id) for hit in selection.propositions)
    ends = [hits[-1] for hits in lists if len(hits) >= depth]
    return any((-end.score, end.id) < last for end in ends)


def search_per_query(
    retriever: Retriever,
    propositions: Mapping[str, Proposition],
    queries: Sequence[str],
    k: int,
    budget: Budget,
) -> Selection:
    """The ablation: every query spends its own budget; the results are joined."""
    chosen = [search_globally(retriever, propositions, [q], k, budget) for q in queries]
    return Selection(
        tuple(_merge([selection.propositions for selection in chosen])),
        tuple(_merge([selection.sources for selection in chosen])),
    )


class PropositionsOfPassages:
    """Ranks propositions by a retriever of passages: those of the best passage first.

    Args:
        passages: ranks passages.
        propositions: of the same passages.
    """

    def __init__(self, passages: Retriever, propositions: Mapping[str, Proposition]) -> None:
        self._passages = passages
        self._stated: dict[str, list[str]] = {}
        for proposition in propositions.values():
            for source in proposition.sources:
                self._stated.setdefault(source, []).append(proposition.id)

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Rank for each query; a proposition has the score of its best passage.

        See :class:`rag_research.index.base.Retriever`.
        """
        lists = []
        for hits in self._passages.search(queries, k):  # a passage states at least one, or none
            scores: dict[str, float] = {}
            for hit in hits:
                for id in self._stated.get(hit.id, ()):
                    scores.setdefault(id, hit.score)
            lists.append(ranked(scores, k))
        return lists


Pool = Callable[[Retriever, Mapping[str, Proposition], Sequence[str], int, Budget], Selection]
POOLS: dict[str, Pool] = {"global": search_globally, "per_query": search_per_query}


def _merge(lists: Sequence[Sequence[Hit]]) -> list[Hit]:
    best: dict[str, float] = {}
    for hits in lists:
        for hit in hits:
            best[hit.id] = max(hit.score, best.get(hit.id, hit.score))
    return ranked(best, len(best))
