"""Training sees no evaluation question, and features see nothing but question and text."""

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from rag_research.corpus.corpus import Corpus
from rag_research.corpus.records import json_rows
from rag_research.corpus.sample_world import SampleWorld, SampleWorldConfig
from rag_research.embed.hashing import Hashing
from rag_research.embed.token_store import TokenStore
from rag_research.graph.corpus_graph import build_corpus_graph
from rag_research.graph.path_candidates import CandidateConfig, find_candidates
from rag_research.graph.path_features import NODE_FEATURES, path_graph
from rag_research.graph.path_question import ask
from rag_research.index.bm25 import build_bm25
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.types import Passage

DATA = Path(__file__).resolve().parents[2] / ".." / "shared" / "data"


def _plain(text: str) -> str:
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())


def test_no_evaluation_question_is_in_the_training_data() -> None:
    training = DATA / "train" / "multihop.jsonl.gz"
    if not training.exists():
        pytest.skip("needs the shared data")
    rows = list(json_rows(training))
    ids, texts = {r.text("id") for r in rows}, {_plain(r.text("question")) for r in rows}
    assert len(ids) > 1000
    files = sorted(p for p in DATA.glob("*/questions*") if p.parent.name != "train")
    assert len(files) >= 3
    for path in files:
        for row in json_rows(path):
            assert row.text("id") not in ids, path
            assert _plain(row.text("question")) not in texts, path


def _described(passages: list[Passage], question: str, folder: Path) -> dict[str, Any]:
    """Every feature of a question's candidates under the passages' texts."""
    encoder, store = Hashing(Hashing.Config(dimension=512)), ArtifactStore(folder)
    corpus = Corpus(passages)
    graph = build_corpus_graph(corpus, encoder, store)
    lexical = build_bm25("passages", corpus.ids, [p.contents for p in corpus], store)
    (tokens,) = TokenStore(folder, encoder).query([question])
    asked = ask(graph, question, tokens)
    path = path_graph(graph, asked, find_candidates(graph, lexical, asked, CandidateConfig()))
    text = [corpus[graph.ids[row]].contents for row in path.rows.tolist()]
    edges = path.edges
    ends = zip(edges.source.tolist(), edges.target.tolist(), strict=True)
    nodes = zip(path.nodes, path.prior, strict=True)
    return {
        "nodes": {t: [*row, prior] for t, (row, prior) in zip(text, nodes, strict=True)},
        "edges": {
            (text[i], text[j]): [*row, weight]
            for (i, j), row, weight in zip(ends, edges.features, edges.weight, strict=True)
        },
        "sentences": {
            t: path.sentences[path.sentence_owner == n].ravel() for n, t in enumerate(text)
        },
    }


def _compared(kind: str, row: Any) -> Any:
    """Without search ranks of passages: equal scores are ranked by id."""
    if kind != "nodes":
        return row
    names = [name for group in NODE_FEATURES.values() for name in group]
    return [v for name, v in zip([*names, "prior"], row, strict=True) if "rank" not in name]


def test_features_do_not_know_ids_or_the_order_of_the_file(tmp_path: Path) -> None:
    dataset = SampleWorld(SampleWorldConfig(passages=200, questions=12)).load()
    passages = list(dataset.corpus)
    for number, question in enumerate(dataset.questions[:4]):
        plain = _described(passages, question.text, tmp_path / "plain")
        renamed = [replace(p, id=f"{Random(p.id).random()}", source="x") for p in passages]
        Random(number).shuffle(renamed)
        other = _described(renamed, question.text, tmp_path / f"renamed{number}")
        shuffled = passages[::-1]
        for kind, values in plain.items():
            assert values.keys() == other[kind].keys()
            for key, row in values.items():
                found = _compared(kind, other[kind][key])
                np.testing.assert_allclose(_compared(kind, row), found, atol=2e-3, err_msg=kind)
        again = _described(shuffled, question.text, tmp_path / f"shuffled{number}")
        for kind, values in plain.items():
            assert values.keys() == again[kind].keys()
            for key, row in values.items():
                np.testing.assert_array_equal(row, again[kind][key])
