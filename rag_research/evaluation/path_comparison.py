"""Path selectors and their baselines on the same questions and the same candidate graphs."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rag_research.corpus.corpus import Corpus
from rag_research.embed.token_store import QueryTokens
from rag_research.errors import ConfigError, DataError
from rag_research.evaluation.path_baselines import BASELINES, oracle, shuffled
from rag_research.evaluation.path_boosting import Boosting
from rag_research.evaluation.path_tokens import (
    Curve,
    Evidence,
    TokenCosts,
    evidence_of,
    read_passages,
    read_sentences,
)
from rag_research.evaluation.retrieval import full_chain, recall_at_k
from rag_research.evaluation.stages import StageRanks
from rag_research.graph.corpus_graph import CorpusGraph
from rag_research.graph.path_candidates import CandidateConfig, Found, find_candidates
from rag_research.graph.path_data import network_input, path_data
from rag_research.graph.path_features import PathGraph, path_graph
from rag_research.graph.path_question import ask
from rag_research.graph.path_retriever import build_path_retriever
from rag_research.graph.selector_checkpoint import SelectorCheckpoint
from rag_research.models.path_selector import Selected
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.runtime.progress import progress
from rag_research.runtime.threads import one_blas_thread
from rag_research.types import Question

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]
SEARCHES = {"bm25": "lexical", "dense": "dense", "hybrid": "fused"}
SENTENCES = ", by sentence"
HUBS = 0.01


@dataclass(frozen=True, slots=True)
class Ranking:
    """Passages of one question, best first.

    Args:
        rows: of the corpus graph. [n]
        mass: share of the score of each, sum 1. [n]
    """

    rows: Integers
    mass: NDArray[np.float64]


@dataclass(slots=True)
class PathComparison:
    """What came out; lists have one entry a question, in the order of ``questions``.

    Args:
        questions: ids.
        passages: in the corpus.
        values: by row and metric: ``recall@k``, ``full_chain@k``, ``found`` (share of gold
            among all that is returned), ``returned`` (how many) and ``hub_mass``.
        curves: by row and measure, see :func:`read_passages`. A row whose name ends with
            :data:`SENTENCES` reads sentence by sentence. Questions without known supporting
            sentences have no entry under ``sentences``.
        stages: ranks of the gold passages, for the first selector.
        milliseconds: of CPU time, by stage.
    """

    questions: list[str]
    passages: int
    values: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    curves: dict[str, dict[str, list[Curve]]] = field(default_factory=dict)
    stages: list[StageRanks] = field(default_factory=list)
    milliseconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    @contextmanager
    def clock(self, stage: str) -> Iterator[None]:
        """Time one question's stage, in CPU time: other processes do not count."""
        start = time.process_time()
        yield
        self.milliseconds[stage].append(1000 * (time.process_time() - start))


class PathComparer:
    """Ranks the candidates of each question by everything that is compared.

    Args:
        corpus: the passages.
        encoder: frozen; one that shows its tokens.
        store: of graph and indexes.
        selectors: at least one.
        boosting: gradient-boosting baselines, each on candidates of its own.
        recall_at: cut-offs.

    Raises:
        ConfigError: no selector, or two of one name.
    """

    def __init__(
        self,
        corpus: Corpus,
        encoder: Any,
        store: ArtifactStore,
        selectors: Sequence[SelectorCheckpoint],
        boosting: Sequence[Boosting] = (),
        recall_at: Sequence[int] = (2, 5, 10),
    ) -> None:
        names = [selector.name for selector in selectors]
        if not names or len(set(names)) < len(names):
            raise ConfigError(
                f"selectors: needs one or more files of different names, got {names}. "
                "A row of the table is named after its file."
            )
        self.selectors = selectors
        self.boosting = boosting
        self.recall_at = recall_at
        self.retriever = build_path_retriever(corpus, encoder, store, selectors[0])
        self.graph: CorpusGraph = self.retriever.graph
        self.costs = TokenCosts(self.graph, corpus)
        self.hubs = hub_passages(self.graph)

    def compare(self, questions: Sequence[Question]) -> PathComparison:
        """Ask every question that has gold passages.

        Raises:
            DataError: none has.
        """
        asked = [question for question in questions if question.gold_passages]
        if not asked:
            raise DataError("No question names gold passages, so retrieval cannot be scored.")
        outcome = PathComparison([q.id for q in asked], len(self.graph))
        with progress("ask", len(asked)) as advance, torch.inference_mode():
            for question in asked:
                self._ask(question, outcome)
                advance()
        return outcome

    @one_blas_thread()  # so that a thread left spinning by one stage is not counted in the next
    def _ask(self, question: Question, outcome: PathComparison) -> None:
        evidence = evidence_of(question, self.costs.corpus, self.graph)
        with outcome.clock("encode"):
            (tokens,) = self.retriever.read([question.text])
        own = self.selectors[0].candidates
        graphs = {own: self._candidates(question.text, tokens, own, outcome)}
        reaches = [boosting.candidates for boosting in self.boosting]
        for settings in reaches + [selector.candidates for selector in self.selectors]:
            if settings not in graphs:
                untimed = PathComparison([], 0)
                graphs[settings] = self._candidates(question.text, tokens, settings, untimed)
        self._baselines(question, evidence, *graphs[own], outcome)
        for boosting in self.boosting:
            path = graphs[boosting.candidates][1]
            with outcome.clock(boosting.name):
                scores = boosting.scores(path)
            self._record(boosting.name, _by_share(path.rows, scores), evidence, outcome)
        for number, selector in enumerate(self.selectors):
            found, path = graphs[selector.candidates]
            with outcome.clock(f"network {selector.name}"):
                selected = selector.network(network_input(path_data(path)))
            self._selected(selector.name, path, selected, evidence, outcome)
            if number == 0:
                outcome.stages.append(self._stages(question, found, path, selected))

    def _candidates(
        self, text: str, tokens: QueryTokens, config: CandidateConfig, outcome: PathComparison
    ) -> tuple[Found, PathGraph]:
        with outcome.clock("candidates"):
            asked = ask(self.graph, text, tokens)
            found = find_candidates(self.graph, self.retriever.lexical, asked, config)
        with outcome.clock("features"):
            path = path_graph(self.graph, asked, found)
        return found, path

    def _baselines(
        self,
        question: Question,
        evidence: Evidence,
        found: Found,
        path: PathGraph,
        outcome: PathComparison,
    ) -> None:
        for name, kind in SEARCHES.items():
            listed = found.lists[kind]
            rows = np.fromiter(listed, np.int64, len(listed))
            scores = np.fromiter(listed.values(), np.float32, len(listed))
            self._record(name, _by_share(rows, scores), evidence, outcome)
        gold = np.isin(path.rows, evidence.passages)
        scored = {name: score(path) for name, score in BASELINES.items()}
        scored |= {"oracle": oracle(path, gold), "random": shuffled(path, question.id)}
        for name, scores in scored.items():
            self._record(name, _by_share(path.rows, scores), evidence, outcome)

    def _selected(
        self,
        name: str,
        path: PathGraph,
        selected: Selected,
        evidence: Evidence,
        outcome: PathComparison,
    ) -> None:
        logits = selected.passages.numpy()
        shares = np.exp(logits.astype(np.float64) - logits.max())
        self._record(name, _ranking(path.rows, logits, shares), evidence, outcome)
        sentences = selected.sentences.numpy()
        order = np.lexsort((path.sentence_rows, -sentences)).tolist()
        curves = read_sentences(
            order, path.sentence_owner, path.sentence_rows, path.rows, evidence, self.costs
        )
        _append(outcome.curves, name + SENTENCES, curves)

    def _record(
        self, name: str, ranking: Ranking, evidence: Evidence, outcome: PathComparison
    ) -> None:
        ids = [str(row) for row in ranking.rows.tolist()]
        gold = [str(row) for row in evidence.passages]
        values = {f"recall@{k}": recall_at_k(ids, gold, k) for k in self.recall_at}
        values |= {f"full_chain@{k}": full_chain(ids, gold, k) for k in self.recall_at}
        values |= {"found": recall_at_k(ids, gold, max(len(ids), 1)), "returned": len(ids)}
        values["hub_mass"] = float(ranking.mass[self.hubs[ranking.rows]].sum())
        _append(outcome.values, name, values)
        rows = ranking.rows.tolist()
        _append(outcome.curves, name, read_passages(rows, evidence, self.costs))

    def _stages(
        self, question: Question, found: Found, path: PathGraph, selected: Selected
    ) -> StageRanks:
        """Ranks after search, with linked candidates below, after diffusion, and at the end."""
        fused = [found.lists["fused"].get(row, 0.0) for row in path.rows.tolist()]
        order = np.lexsort((path.rows, -found.dense[path.rows], -np.array(fused)))
        orders = {
            "search": np.fromiter(found.lists["fused"], np.int64),
            "candidates": path.rows[order],
            "diffusion": _ranking(path.rows, selected.energy.numpy()).rows,
            "selector": _ranking(path.rows, selected.passages.numpy()).rows,
        }
        rankings = {
            stage: [self.graph.ids[row] for row in rows.tolist()] for stage, rows in orders.items()
        }
        gold = {
            stage: {id: ids.index(id) + 1 if id in ids else None for id in question.gold_passages}
            for stage, ids in rankings.items()
        }
        return StageRanks(question.id, rankings, gold)


def hub_passages(graph: CorpusGraph, share: float = HUBS) -> NDArray[np.bool_]:
    """The passages whose titles are named most: the first ``share``, and their equals. [N]

    Passages without a title, or whose title only they themselves name, are no hubs.
    """
    title = np.asarray(graph.arrays["title_entity"], np.int64)
    df = np.diff(graph.arrays["entity_start"])
    named = np.where(title >= 0, df[np.maximum(title, 0)] if len(df) else 0, 0)
    count = max(1, round(share * len(named)))
    hubs: NDArray[np.bool_] = (named >= np.sort(named)[-count]) & (named > 1)
    return hubs


def _ranking(rows: Integers, scores: Floats, shares: NDArray[Any] | None = None) -> Ranking:
    order = np.lexsort((rows, -scores))
    order = order[~np.isnan(scores[order])]
    mass = np.asarray(scores if shares is None else shares, np.float64)[order]
    return Ranking(rows[order], mass / max(mass.sum(), 1e-12))


def _by_share(rows: Integers, scores: Floats) -> Ranking:
    return _ranking(rows, scores, np.maximum(scores, 0))


def _append(into: dict[str, dict[str, list[Any]]], row: str, values: Mapping[str, Any]) -> None:
    own = into.setdefault(row, {})
    for name, value in values.items():
        own.setdefault(name, []).append(value)
