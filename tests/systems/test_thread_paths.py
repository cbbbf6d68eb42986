"""Path retrieval inside the systems, with an untrained selector: the paper's energies."""

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag_research.config import build
from rag_research.corpus.corpus import Corpus
from rag_research.embed.hashing import Hashing, HashingConfig
from rag_research.errors import ModelNotFoundError
from rag_research.graph.path_candidates import CandidateConfig
from rag_research.graph.path_edges import EDGE_FEATURES
from rag_research.graph.path_features import NODE_FEATURES, SENTENCE_FEATURES
from rag_research.graph.selector_checkpoint import save_selector
from rag_research.index.flat import Flat
from rag_research.index.rerank import NoReranker
from rag_research.llm.scripted import Scripted
from rag_research.models.path_selector import PathSelector
from rag_research.prompts.library import PromptLibrary
from rag_research.registry import SYSTEMS
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.systems.base import Index, Parts, System
from rag_research.systems.thread_paths import FoundByPaths
from rag_research.trace import Trace
from rag_research.types import Answer, Passage

QUESTION = "Where was the director of Salt Road born?"
FILLER = "Nothing else is known of it to this day. " * 40
CORPUS = Corpus(
    [
        Passage("film", "Salt Road", "Salt Road is a film. Mia Orr directed Salt Road."),
        Passage("person", "Mia Orr", "Mia Orr is a director. Mia Orr was born in Keld."),
        Passage("town", "Keld", "Keld is a town on the Esk. Sheep graze there."),
        Passage("long", "The Old Road", f"{FILLER}The Old Road ends in Keld. {FILLER}"),
        Passage("empty", "", ""),
    ]
)
FAST = {"segmenter": "sentences", "entities": "capitalised"}


@pytest.fixture(scope="module")
def selector(tmp_path_factory: pytest.TempPathFactory) -> str:
    sizes = (sum(map(len, groups.values())) for groups in (NODE_FEATURES, EDGE_FEATURES))
    network = PathSelector(*sizes, len(SENTENCE_FEATURES))
    path = tmp_path_factory.mktemp("selector") / "untrained.safetensors"
    save_selector(path, network, {"candidates": CandidateConfig()})
    return str(path)


def indexed(name: str, tmp_path: Path, llm: Scripted, **settings: Any) -> tuple[System, Index]:
    kind = SYSTEMS.get(name)
    encoder = Hashing(HashingConfig(dimension=128))
    system = kind(
        build(kind.Config, settings),
        Parts(llm, encoder, PromptLibrary(), Flat.Config(), NoReranker.Config()),
    )
    return system, system.index(CORPUS, ArtifactStore(tmp_path))


def solved(system: System, index: Index) -> tuple[Answer, Trace]:
    trace = Trace("q")
    return asyncio.run(system.solve(QUESTION, index, trace)), trace


def thread_settings(selector: str, tokens: int = 512, **more: Any) -> dict[str, Any]:
    path = {"selector": {"name": "learned", "tokens": tokens}}
    return {
        **FAST, "retrieval": "paths", "path_selector": selector, "pathfinding": path, **more
    }  # fmt: skip


def test_threadrag_reads_along_paths(tmp_path: Path, selector: str) -> None:
    missing = json.dumps({"sufficient": False, "missing": [["Mia Orr", "born in", "?"]]})
    llm = Scripted.of({"discriminate": [missing] * 2, "answer": ["<answer>Keld"]})
    system, index = indexed("threadrag", tmp_path, llm, **thread_settings(selector))
    assert not llm.requests  # construction costs no token
    answer, trace = solved(system, index)
    assert answer.text == "Keld"
    assert "entities" not in {request.purpose for request in llm.requests}  # names by spelling
    assert {"film", "person"} <= {hit.id for hit in answer.evidence}
    texts = {source.id: source.text for source in CORPUS}
    assert answer.spans
    for span in answer.spans:
        assert texts[span.document_id][span.start : span.end] == span.text
    found = [line for line in trace.lines() if line["step"] == "retrieve"]
    assert all(0 < hit["score"] < 1 for hit in found[0]["hits"])


def test_the_budget_limits_what_is_read(tmp_path: Path, selector: str) -> None:
    llm = Scripted.of({"discriminate": ["no", "no"], "answer": ["<answer>Keld"]})
    settings = thread_settings(selector, tokens=11)
    system, index = indexed("threadrag", tmp_path, llm, **settings)
    answer, _ = solved(system, index)
    assert sum(len(span.text.split()) for span in answer.spans) <= 11
    assert answer.spans


def test_unlikely_spans_are_not_read_though_they_would_fit(tmp_path: Path, selector: str) -> None:
    read = {}
    for least in (0.0, 1.0):
        llm = Scripted.of({"discriminate": ["no"] * 2, "answer": ["<answer>x"]})
        path = {"selector": {"name": "learned", "probability": least}}
        settings = thread_settings(selector, documents=4) | {"pathfinding": path}
        system, index = indexed("threadrag", tmp_path, llm, **settings)
        answer, _ = solved(system, index)
        read[least] = len(answer.spans)
    assert read[0.0] > 1
    assert read[1.0] == 1  # the best span is kept whatever it has


def test_scores_reach_the_spans_of_long_documents(tmp_path: Path, selector: str) -> None:
    settings = thread_settings(selector, chunk_size=500, chunk_overlap=60, documents=20)
    _, index = indexed("threadrag", tmp_path, Scripted.of({}), **settings)
    library = index.data["library"]
    found = FoundByPaths(index.retrievers["chunks"], library)
    hits = found.search(["Where does The Old Road end?", "Who directed Salt Road?"], 20)
    assert any(hit.id.startswith("long@") for hit in hits[0])
    ids = {hit.id for one in hits for hit in one}
    nodes, _ = library.spans(sorted(ids))
    scores = found.span_scores(nodes)
    assert scores.shape == (len(nodes),)
    assert ((scores > 0) & (scores < 1)).all()
    # An untrained selector scores every sentence as its passage; a span gets its chunk's score.
    chunk = {hit.id: hit.score for hit in hits[1]}
    film = [s for s, n in zip(scores, nodes, strict=True) if n.span.document_id == "film"]
    np.testing.assert_allclose(film, chunk["film"], rtol=1e-4)


def test_triplets_as_units_have_the_probability_of_their_passage(
    tmp_path: Path, selector: str
) -> None:
    triplets = tmp_path / "triplets.jsonl"
    rows = [
        {"id": "film", "triplets": [["Mia Orr", "directed", "Salt Road"]]},
        {"id": "person", "triplets": [["Mia Orr", "was born in", "Keld"]]},
    ]
    triplets.write_text("".join(json.dumps(row) + "\n" for row in rows))
    extractor = {"name": "imported", "path": str(triplets)}
    settings = thread_settings(selector, units="triplets", extractor=extractor, documents=4)
    _, index = indexed("threadrag", tmp_path / "store", Scripted.of({}), **settings)
    library = index.data["library"]
    found = FoundByPaths(index.retrievers["chunks"], library)
    (hits,) = found.search([QUESTION], 4)
    nodes, _ = library.spans([hit.id for hit in hits])
    assert len(nodes) == 2
    chunk = {hit.id: hit.score for hit in hits}
    expected = [chunk[node.span.document_id] for node in nodes]
    np.testing.assert_allclose(found.span_scores(nodes), expected, atol=1e-8)


def test_behind_hybrid_retrieval_the_budget_goes_by_diffused_energy(tmp_path: Path) -> None:
    lines = []
    for name in ("learned", "token_budget"):
        llm = Scripted.of({"discriminate": ["no"] * 2, "answer": ["<answer>x"]})
        path = {"selector": {"name": name, "tokens": 12}}
        settings = {**FAST, "retrieval": "hybrid", "pathfinding": path}
        system, index = indexed("threadrag", tmp_path / name, llm, **settings)
        answer, _ = solved(system, index)
        assert answer.spans
        lines.append([(span.document_id, span.start) for span in answer.spans])
    assert lines[0] == lines[1]


def test_published_pathfinding_over_what_the_selector_retrieves(
    tmp_path: Path, selector: str
) -> None:
    llm = Scripted.of({"answer": ["<answer>x"]})
    path = {"selector": "threshold", "connectivity": "bfs", "anchors": 1, "diffusion": "none"}
    settings = thread_settings(selector, iterations=1, documents=4) | {"pathfinding": path}
    system, index = indexed("threadrag", tmp_path, llm, **settings)
    _, trace = solved(system, index)
    found = next(line for line in trace.lines() if line["step"] == "pathfind")
    ((*_, energy),) = found["energy"]  # all of it on the one anchor, whatever was learned
    assert energy == 1
    retrieved = next(line for line in trace.lines() if line["step"] == "retrieve")
    assert all(0 < hit["score"] < 1 for hit in retrieved["hits"])


def test_an_unknown_selector_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match="selector-minilm"):
        indexed("path_rag", tmp_path, Scripted.of({}), path_selector="selector-minilmm")


def test_path_rag_reads_the_best_passages(tmp_path: Path, selector: str) -> None:
    llm = Scripted.of({"answer": ["Keld"]})
    system, index = indexed("path_rag", tmp_path, llm, path_selector=selector, k=2)
    answer, _ = solved(system, index)
    assert answer.text == "Keld"
    assert len(answer.evidence) == 2
    assert answer.evidence[0].score >= answer.evidence[1].score


def test_t2rag_takes_propositions_of_found_passages(tmp_path: Path, selector: str) -> None:
    triplets = tmp_path / "triplets.jsonl"
    rows = [
        {"id": "film", "triplets": [["Mia Orr", "directed", "Salt Road"]]},
        {"id": "person", "triplets": [["Mia Orr", "was born in", "Keld"]]},
    ]
    triplets.write_text("".join(json.dumps(row) + "\n" for row in rows))
    llm = Scripted.of(
        {
            "decompose": [
                '[["?director", "directed", "Salt Road"], ["?director", "born in", "?place"]]'
            ],
            "resolve": ['[["Mia Orr", "directed", "Salt Road"], ["Mia Orr", "born in", "Keld"]]'],
            "answer": ["Keld"],
        }
    )
    settings = {
        "extractor": {"name": "imported", "path": str(triplets)},
        "retrieval": "paths",
        "path_selector": selector,
    }
    system, index = indexed("t2rag", tmp_path / "store", llm, **settings)
    answer, trace = solved(system, index)
    found = next(line for line in trace.lines() if line["step"] == "retrieve")
    assert "Mia Orr directed Salt Road" in found["propositions"]
    assert {hit.id for hit in answer.evidence} == {"film", "person"}


def test_tog3_reads_chunks_along_paths(tmp_path: Path, selector: str) -> None:
    replies = {"extract": "[]", "respond": "Keld", "answer": "<answer>Keld"}
    enough = '{"missing": "", "sufficient": true}'
    llm = Scripted.of(lambda request: replies.get(request.purpose, enough))
    settings = {"retrieval": "paths", "path_selector": selector, "graph": {"chunk_size": 100}}
    system, index = indexed("tog3", tmp_path, llm, **settings)
    answer, trace = solved(system, index)
    nodes = [id for id, _ in next(trace.lines())["nodes"]]
    assert len(nodes) == 5 and len(set(nodes)) == 5
    assert all(id.startswith("chunk:") for id in nodes)
    assert answer.text == "Keld"
    assert {hit.id for hit in answer.evidence} == {id[6:].partition("@")[0] for id in nodes}


def test_long_texts_without_sentences_are_read(tmp_path: Path) -> None:
    words = " ".join(f"word{n}" for n in range(900))
    log = Passage("log", "Log", f"{words} the director was born in Keld {words}")
    llm = Scripted.of(lambda _: "")
    encoder = Hashing(HashingConfig(dimension=128))
    kind = SYSTEMS.get("threadrag")
    system = kind(
        build(kind.Config, {"entities": "capitalised"}),
        Parts(llm, encoder, PromptLibrary(), Flat.Config(), NoReranker.Config()),
    )
    index = system.index(Corpus([log]), ArtifactStore(tmp_path))
    answer = asyncio.run(system.solve("Where was the director born?", index, Trace("ask")))
    assert answer.spans
    assert len(index.data["library"].documents[log.id].nodes) == 10
    assert all(len(span.text.split()) <= 200 for span in answer.spans)
