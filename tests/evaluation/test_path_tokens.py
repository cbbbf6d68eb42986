"""Evidence within a budget of tokens, counted by hand."""

from pathlib import Path

import numpy as np
import pytest

from rag_research.corpus.corpus import Corpus
from rag_research.embed.hashing import Hashing, HashingConfig
from rag_research.evaluation.path_tokens import (
    BUDGETS,
    Evidence,
    TokenCosts,
    area,
    evidence_of,
    fill,
    read_passages,
    read_sentences,
    tokens_at,
)
from rag_research.graph.corpus_graph import CorpusGraph, build_corpus_graph
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.types import Passage, Question

# 60 tokens a sentence: 59 words and a full stop.
LONG = "Word " + "word " * 57 + "word."
CORPUS = Corpus(
    [
        Passage("a", "Salt Road", f"{LONG} {LONG}"),  # 2 + 120
        Passage("b", "Mia Orr", f"{LONG} {LONG} {LONG}"),  # 2 + 180
        Passage("c", "", "Rye is a grain."),  # 5
    ]
)


@pytest.fixture
def graph(tmp_path: Path) -> CorpusGraph:
    return build_corpus_graph(CORPUS, Hashing(HashingConfig()), ArtifactStore(tmp_path))


def at(curve: np.ndarray, budget: int) -> float:
    return float(curve[BUDGETS.tolist().index(budget)])


def test_what_does_not_fit_is_passed_over() -> None:
    taken = fill([3, 5, 2], budgets=np.array([2, 5, 8, 10]))
    assert taken.astype(int).tolist() == [[0, 0, 1], [1, 0, 1], [1, 1, 0], [1, 1, 1]]


def test_the_head_of_a_group_is_paid_once() -> None:
    taken = fill([2, 2, 2], [0, 0, 1], [1, 2], np.array([2, 3, 5, 8, 9]))
    assert taken.astype(int).tolist() == [
        [0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 0], [1, 1, 1],
    ]  # fmt: skip


def test_tokens_of_passages_and_sentences(graph: CorpusGraph) -> None:
    costs = TokenCosts(graph, CORPUS)
    assert [costs.passage(row) for row in range(3)] == [122, 182, 5]
    assert costs.sentences(1) == [60, 60, 60] and costs.head(1) == 2 and costs.head(2) == 0


def test_evidence_is_located_by_title_and_number(graph: CorpusGraph) -> None:
    facts = (("Salt Road", 1), ("Mia Orr", 0), ("Mia Orr", 3), ("Elsewhere", 0))
    question = Question("q", "?", gold_passages=("b", "a"), supporting_facts=facts)
    assert evidence_of(question, CORPUS, graph) == Evidence((1, 0), (1, 2))
    assert evidence_of(Question("q", "?", gold_passages=("c",)), CORPUS, graph) == Evidence(
        (2,), ()
    )


def test_whole_passages(graph: CorpusGraph) -> None:
    """Read b (182), a (122), c (5): c alone fits 64; a and c fit 128; b and c fit 192."""
    costs = TokenCosts(graph, CORPUS)
    curves = read_passages([1, 0, 2], Evidence((0, 1), (0, 1, 2)), costs)
    assert [at(curves["whole"], b) for b in (64, 128, 192, 320)] == [0, 0.5, 0.5, 1]
    assert curves["touched"].tolist() == curves["whole"].tolist()
    assert [at(curves["sentences"], b) for b in (64, 128, 192, 320)] == [
        0, pytest.approx(2 / 3), pytest.approx(1 / 3), 1,
    ]  # fmt: skip
    assert "sentences" not in read_passages([1], Evidence((0,), ()), costs)
    assert read_passages([], Evidence((0,), ()), costs)["whole"].max() == 0


def test_single_sentences(graph: CorpusGraph) -> None:
    """One sentence of b (62 with its title), one of a (62), then the rest of b (60 each)."""
    costs = TokenCosts(graph, CORPUS)
    rows = np.array([0, 1])
    owner, sentences = np.array([0, 0, 1, 1, 1]), np.arange(5)
    evidence = Evidence((0, 1), (0, 4))
    curves = read_sentences([4, 0, 2, 3, 1], owner, sentences, rows, evidence, costs)
    budgets = (64, 128, 192, 256, 320)
    assert [at(curves["touched"], b) for b in budgets] == [0.5, 1, 1, 1, 1]
    assert [at(curves["whole"], b) for b in budgets] == [0, 0, 0, 0.5, 1]
    assert [at(curves["sentences"], b) for b in budgets] == [0.5, 1, 1, 1, 1]


def test_evidence_that_is_no_candidate_is_missed(graph: CorpusGraph) -> None:
    costs = TokenCosts(graph, CORPUS)
    one = (np.array([0]), np.array([5]), np.array([2]))
    curves = read_sentences([0], *one, Evidence((0, 2), (0,)), costs)
    assert curves["touched"].max() == 0.5 and curves["sentences"].max() == 0


def test_area_and_tokens_at_a_recall() -> None:
    flat = np.full(len(BUDGETS), 0.5)
    assert area(flat) == 0.5 and tokens_at(flat) is None
    line = (BUDGETS - 64) / (2048 - 64)
    assert area(line) == pytest.approx(0.5)
    step = np.where(BUDGETS >= 256, 0.95, 0.0)
    assert tokens_at(step) == 256
