"""Labels, pools and splits of training questions, on files small enough to check by eye."""

import json
from pathlib import Path
from typing import Any

import pytest

from rag_research.errors import DataError
from rag_research.training.selector_questions import (
    TrainingQuestion,
    pool,
    read_questions,
    split_questions,
)

CHAIN = {
    "dataset": "chains",
    "id": "1",
    "question": "Where was the director of Low Water born?",
    "passages": [
        {"title": "High Water", "sentences": ["A film of 1920."], "is_gold": False},
        {
            "title": "Ann Bay",
            "sentences": ["She made films. ", " She was born in Ferrol."],
            "is_gold": True,
        },
        {
            "title": "Low Water (film)",
            "sentences": ["A film.", "It was directed by Ann Bay."],
            "is_gold": True,
        },
    ],
    "evidences": [["Low Water", "director", "Ann Bay"], ["Ann Bay", "born in", "Ferrol"]],
    "supporting_facts": [["Low Water (film)", 1], ["Ann Bay", [1]], ["High Water", 0]],
}
STEPS = {
    "dataset": "steps",
    "id": "2",
    "question": "Who founded the town where the maker of the Bell and the Drum was born?",
    "passages": [
        {
            "title": "Town",
            "sentences": ["Ada Stone founded it. ada stone died there."],
            "is_gold": True,
        },
        {"title": "Bell", "sentences": ["Made by Bo Reed."], "is_gold": True},
        {"title": "Bell", "sentences": ["Another bell."], "is_gold": False},
        {"title": "Bo Reed", "sentences": ["He came from the coast."], "is_gold": True},
    ],
    "decomposition": [
        {"question": "Bell >> maker", "answer": "Bo Reed", "paragraph_support_idx": 1},
        {"question": "#1 >> born in", "answer": "Town", "paragraph_support_idx": 3},
        {"question": "#2 >> founder", "answer": "Ada Stone", "paragraph_support_idx": 0},
    ],
}


def _read(folder: Path, *rows: dict[str, Any], **settings: Any) -> list[TrainingQuestion]:
    path = folder / "questions.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return read_questions(path, **settings)


def _by_title(question: TrainingQuestion) -> dict[str, str]:
    return {p.title: p.id for p in question.passages if p.id in question.gold}


def test_a_chain_of_evidences(tmp_path: Path) -> None:
    (question,) = _read(tmp_path, CHAIN)
    ids = _by_title(question)
    assert set(ids) == {"Low Water (film)", "Ann Bay"}
    assert question.hops == {ids["Low Water (film)"]: 0, ids["Ann Bay"]: 1}
    texts = {p.id: p.text for p in question.passages}
    assert texts[ids["Ann Bay"]] == "She made films. She was born in Ferrol."
    told = {id: [texts[id][a:b] for a, b in ranges] for id, ranges in question.support.items()}
    assert told == {
        ids["Low Water (film)"]: ["It was directed by Ann Bay."],
        ids["Ann Bay"]: ["She was born in Ferrol."],
    }


def test_passages_asked_side_by_side_share_a_place(tmp_path: Path) -> None:
    row = CHAIN | {"evidences": [["Low Water", "born in", "X"], ["Ann Bay", "born in", "X"]]}
    (question,) = _read(tmp_path, row)
    assert set(question.hops.values()) == {0}


def test_a_decomposition_gives_order_and_answers(tmp_path: Path) -> None:
    (question,) = _read(tmp_path, STEPS)
    ids = _by_title(question)
    assert question.hops == {ids["Bell"]: 0, ids["Bo Reed"]: 1, ids["Town"]: 2}
    texts = {p.id: p.text for p in question.passages}
    told = {id: [texts[id][a:b] for a, b in ranges] for id, ranges in question.support.items()}
    # Case does not matter; the second step's answer is not in its passage.
    assert told == {
        ids["Town"]: ["Ada Stone", "ada stone"],
        ids["Bell"]: ["Bo Reed"],
        ids["Bo Reed"]: [],
    }


def test_sentence_labels_follow_our_own_sentences(tmp_path: Path) -> None:
    from rag_research.corpus.corpus import Corpus
    from rag_research.embed.hashing import Hashing
    from rag_research.embed.token_store import TokenStore
    from rag_research.graph.corpus_graph import build_corpus_graph
    from rag_research.graph.path_candidates import CandidateConfig, find_candidates
    from rag_research.graph.path_features import path_graph
    from rag_research.graph.path_question import ask
    from rag_research.index.bm25 import build_bm25
    from rag_research.runtime.artifacts import ArtifactStore
    from rag_research.training.selector_graphs import path_labels

    (question,) = _read(tmp_path, CHAIN)
    encoder, store = Hashing(Hashing.Config()), ArtifactStore(tmp_path / "store")
    corpus = Corpus(sorted(question.passages, key=lambda p: p.id))
    graph = build_corpus_graph(corpus, encoder, store)
    lexical = build_bm25("passages", corpus.ids, [p.contents for p in corpus], store)
    (tokens,) = TokenStore(store.root, encoder).query([question.text])
    asked = ask(graph, question.text, tokens)
    path = path_graph(graph, asked, find_candidates(graph, lexical, asked, CandidateConfig()))
    labels = path_labels(question, corpus, graph, path)
    assert labels.missed == 0 and labels.gold.sum() == 2
    contents = [corpus[graph.ids[row]].contents for row in path.rows[path.sentence_owner]]
    offsets = graph.tables.sentence_offsets[path.sentence_rows]
    marked = {
        text[a:b].strip()
        for text, (a, b), label in zip(contents, offsets.tolist(), labels.sentences, strict=True)
        if label
    }
    assert marked == {"It was directed by Ann Bay.", "She was born in Ferrol."}
    hop = {graph.ids[row]: int(h) for row, h in zip(path.rows, labels.hop, strict=True)}
    assert hop == {p.id: question.hops.get(p.id, -1) for p in question.passages}


def test_pools(tmp_path: Path) -> None:
    twin = {"title": "Bell", "sentences": ["A bell, told elsewhere."], "is_gold": False}
    chain = CHAIN | {"passages": [*CHAIN["passages"], CHAIN["passages"][0], twin]}  # type: ignore[misc]
    questions = _read(tmp_path, chain, STEPS)
    own = pool(questions, "steps")
    assert sorted(p.title for p in own) == ["Bell", "Bell", "Bo Reed", "Town"]
    assert [p.id for p in own] == sorted(p.id for p in own)
    wide = pool(questions, "steps", smallest=5)
    # The repeated passage is there once; another edition of the own title "Bell" is not.
    assert sorted(p.title for p in wide) == sorted(
        [*(p.title for p in own), "High Water", "Ann Bay", "Low Water (film)"]
    )
    assert pool(questions, "steps", smallest=4) == own


def test_the_split_is_by_question_and_repeatable(tmp_path: Path) -> None:
    rows = [CHAIN | {"id": str(n)} for n in range(40)] + [STEPS | {"id": str(n)} for n in range(10)]
    questions = _read(tmp_path, *rows)
    train, held = split_questions(questions, 0.1, seed=0)
    keys = [{(q.dataset, q.id) for q in part} for part in (train, held)]
    assert not keys[0] & keys[1] and len(keys[0] | keys[1]) == 50
    assert sorted(q.dataset for q in held) == ["chains"] * 4 + ["steps"]
    again = split_questions(list(reversed(questions)), 0.1, seed=0)
    assert [q.id for q in again[0]] == [q.id for q in train]
    assert {q.id for q in split_questions(questions, 0.1, seed=1)[1]} != {q.id for q in held}
    few = split_questions(questions, 0.1, seed=0, limit=7)
    assert few[1] == held and few[0] == train[:7]


def test_what_is_left_out_is_not_read(tmp_path: Path) -> None:
    assert {q.dataset for q in _read(tmp_path, CHAIN, STEPS, leave_out=["chains"])} == {"steps"}
    with pytest.raises(DataError, match="Did you mean 'chains'"):
        _read(tmp_path, CHAIN, leave_out=["chain"])
    with pytest.raises(DataError, match="no question is left"):
        _read(tmp_path, CHAIN, leave_out=["chains"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"supporting_facts": [["Ann Bay"]]}, "supporting_facts"),
        ({"supporting_facts": [["Ann Bay", "0"]]}, "supporting_facts"),
        ({"evidences": [["a", "b"]]}, "evidences"),
        ({"passages": ["text"]}, "passages"),
        ({"decomposition": [{"question": "", "answer": "", "paragraph_support_idx": 9}]}, "number"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError, match=f"line 1.*{said}|{said}.*line 1"):
        _read(tmp_path, CHAIN | change)


def test_ids_are_unique_inside_a_data_set(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there already"):
        _read(tmp_path, CHAIN, CHAIN)
