"""How much of the evidence is read within a budget of tokens.

Whole passages, or single sentences, are read in the order of a ranking for as long as they fit;
one that is too long is passed over, as :class:`rag_research.graph.selectors.TokenBudget` does it.
Tokens are those of :func:`rag_research.graph.selectors.count_tokens`. A passage costs its title
and its text; the title is paid with the first of its sentences that is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag_research.corpus.corpus import Corpus
from rag_research.graph.corpus_graph import CorpusGraph
from rag_research.graph.selectors import count_tokens
from rag_research.types import Question

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Curve = NDArray[np.float64]

BUDGETS = np.arange(64, 2049, 64)
MEASURES = ("whole", "touched", "sentences")
REACHED = 0.9


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where a question's evidence is.

    Args:
        passages: rows of all gold passages, whether they are candidates or not.
        sentences: rows of supporting sentences; empty where unknown.
    """

    passages: tuple[int, ...]
    sentences: tuple[int, ...]


class TokenCosts:
    """Tokens of passages and sentences, each counted once.

    Args:
        graph: of the corpus.
        corpus: the passages.
    """

    def __init__(self, graph: CorpusGraph, corpus: Corpus) -> None:
        self.graph = graph
        self.corpus = corpus
        self._known: dict[int, tuple[int, list[int]]] = {}

    def passage(self, row: int) -> int:
        """Tokens of a passage with its title."""
        head, sentences = self._costs(row)
        return head + sum(sentences)

    def head(self, row: int) -> int:
        """Tokens of a passage's title."""
        return self._costs(row)[0]

    def sentences(self, row: int) -> list[int]:
        """Tokens of each sentence of a passage."""
        return self._costs(row)[1]

    def _costs(self, row: int) -> tuple[int, list[int]]:
        if row not in self._known:
            tables, passage = self.graph.tables, self.corpus[self.graph.ids[row]]
            first, last = tables.sentence_start[row : row + 2].tolist()
            offsets = tables.sentence_offsets[first:last].tolist()
            text = passage.contents
            self._known[row] = (
                count_tokens(passage.title),
                [count_tokens(text[start:end]) for start, end in offsets],
            )
        return self._known[row]


def evidence_of(question: Question, corpus: Corpus, graph: CorpusGraph) -> Evidence:
    """Rows of a question's gold passages and supporting sentences.

    A supporting sentence is located by its number among the sentences as this package splits
    them, which may be others than the data set's; a number beyond the last is left out.
    """
    start = graph.tables.sentence_start
    facts = set()
    for title, number in question.supporting_facts:
        for id in question.gold_passages:
            row = graph.rows[id]
            if corpus[id].title == title and 0 <= number < start[row + 1] - start[row]:
                facts.add(int(start[row]) + number)
    rows = dict.fromkeys(graph.rows[id] for id in question.gold_passages)
    return Evidence(tuple(rows), tuple(sorted(facts)))


def read_passages(
    rows: Sequence[int], evidence: Evidence, costs: TokenCosts
) -> Mapping[str, Curve]:
    """Read whole passages.

    Args:
        rows: of passages, best first.
        evidence: what is to be found.
        costs: of the passages.

    Returns:
        For each of :data:`BUDGETS`: share of gold passages read (``whole``, ``touched``), and
        share of the supporting sentences (``sentences``, where they are known).
    """
    taken = fill([costs.passage(row) for row in rows])
    place = {row: n for n, row in enumerate(rows)}
    found = [taken[:, place[row]] for row in evidence.passages if row in place]
    whole = _share(found, len(evidence.passages))
    curves = {"whole": whole, "touched": whole}
    if evidence.sentences:
        start = costs.graph.tables.sentence_start
        owners = [int(np.searchsorted(start, s, "right")) - 1 for s in evidence.sentences]
        read = [taken[:, place[row]] for row in owners if row in place]
        curves["sentences"] = _share(read, len(evidence.sentences))
    return curves


def read_sentences(
    order: Sequence[int], owner: Integers, sentences: Integers, rows: Integers,
    evidence: Evidence, costs: TokenCosts,
) -> Mapping[str, Curve]:  # fmt: skip
    """Read single sentences.

    Args:
        order: numbers of sentences, best first.
        owner: number of each sentence's passage, ascending. [S]
        sentences: row of each. [S]
        rows: of the passages. [N]
        evidence: what is to be found.
        costs: of the passages.

    Returns:
        As :func:`read_passages`: a gold passage is ``whole`` when all of its sentences are read
        and ``touched`` when one of them is.
    """
    each = [cost for row in rows.tolist() for cost in costs.sentences(row)]
    heads = [costs.head(row) for row in rows.tolist()]
    groups = owner[np.asarray(order, np.int64)].tolist()
    taken = np.zeros((len(BUDGETS), len(owner)), bool)
    taken[:, order] = fill([each[n] for n in order], groups, heads)
    whole: list[Flags] = []
    touched: list[Flags] = []
    for place, row in enumerate(rows.tolist()):
        if row in evidence.passages:
            own = taken[:, owner == place]
            whole.append(np.asarray(own.all(axis=1) & (own.shape[1] > 0)))
            touched.append(np.asarray(own.any(axis=1)))
    count = len(evidence.passages)
    curves = {"whole": _share(whole, count), "touched": _share(touched, count)}
    if evidence.sentences:
        read = [taken[:, n] for n in np.flatnonzero(np.isin(sentences, evidence.sentences))]
        curves["sentences"] = _share(read, len(evidence.sentences))
    return curves


def fill(
    costs: Sequence[int],
    groups: Sequence[int] | None = None,
    heads: Sequence[int] = (),
    budgets: Integers = BUDGETS,
) -> Flags:
    """What is read within each budget.

    Args:
        costs: tokens of each item, best item first.
        groups: of each item; the first item read of a group pays the group's head as well.
        heads: tokens of each group's head.
        budgets: in tokens.

    Shapes:
        -> [B, items]
    """
    left = np.array(budgets, np.int64)
    taken = np.zeros((len(left), len(costs)), bool)
    opened = np.zeros((len(left), len(heads)), bool)
    for item, cost in enumerate(costs):
        price = np.full(len(left), cost)
        if groups is not None:
            price += heads[groups[item]] * ~opened[:, groups[item]]
        fits = price <= left
        left -= price * fits
        taken[:, item] = fits
        if groups is not None:
            opened[:, groups[item]] |= fits
    return taken


def area(curve: Curve) -> float:
    """Mean recall over the budgets from the least to the greatest (trapezoids)."""
    middle = (curve[1:] + curve[:-1]) / 2
    return float((middle * np.diff(BUDGETS)).sum() / (BUDGETS[-1] - BUDGETS[0]))


def tokens_at(curve: Curve, recall: float = REACHED) -> int | None:
    """Least budget whose recall is at least ``recall``; ``None`` when none is."""
    reached = np.flatnonzero(curve >= recall)
    return int(BUDGETS[reached[0]]) if len(reached) else None


def _share(found: Sequence[Flags], count: int) -> Curve:
    total = np.zeros(len(BUDGETS))
    for flags in found:
        total += flags
    share: Curve = total / count
    return share
