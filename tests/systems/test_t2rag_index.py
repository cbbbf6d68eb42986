"""T2RAG's index with a real (small) encoder: sources, growth, change, death, nothing at all."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

pytest.importorskip("faiss")

from rag_research.config import build
from rag_research.corpus.corpus import Corpus
from rag_research.index.flat import Flat
from rag_research.llm.scripted import Scripted
from rag_research.prompts.library import PromptLibrary
from rag_research.registry import ENCODERS
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.systems.base import Index, Parts
from rag_research.systems.t2rag import T2RAG, T2RAGConfig
from rag_research.trace import Trace
from rag_research.types import Passage

Rows = Mapping[str, Sequence[Sequence[str]]]
ROWS: Rows = {
    "a": [["Ann", "wrote", "Tides"], ["Ann", "lives in", "Oby"]],
    "b": [["Ann", "wrote", "Tides"], ["Oby", "lies on", "the Esk"]],
    "c": [],
}


def index_of(rows: Rows, folder: Path, store: ArtifactStore, compat: str = "paper") -> Index:
    path = folder / f"triplets-{len(list(folder.glob('*.jsonl')))}.jsonl"
    lines = [json.dumps({"id": id, "triplets": triplets}) for id, triplets in rows.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    extractor = {"name": "imported", "path": str(path)}
    config = build(T2RAGConfig, {"extractor": extractor, "compat": compat})
    hashing = ENCODERS.get("hashing")
    parts = Parts(
        llm=Scripted.of([]),
        encoder=hashing(hashing.Config()),
        prompts=PromptLibrary(),
        dense=Flat.Config(),
    )
    corpus = Corpus(Passage(id, "", f"Text of {id}.") for id in rows)
    return T2RAG(config, parts).index(corpus, store)


def found(index: Index, query: str, k: int = 1) -> list[str]:
    hits = index.retrievers["propositions"].search([query], k)[0]
    return [index.data["propositions"][hit.id].text for hit in hits]


def test_every_source_of_a_proposition_is_kept(tmp_path: Path) -> None:
    index = index_of(ROWS, tmp_path, ArtifactStore(tmp_path / "store"))
    by_text = {p.text: p for p in index.data["propositions"].values()}
    assert by_text["Ann wrote Tides"].sources == ("a", "b")
    assert index.counts["triplets"] == 4 and index.counts["propositions"] == 3
    assert index.counts["empty"] == 1
    assert found(index, "Ann lives in Oby") == ["Ann lives in Oby"]


def test_the_released_code_keeps_the_last_source_only(tmp_path: Path) -> None:
    index = index_of(ROWS, tmp_path, ArtifactStore(tmp_path / "store"), compat="released")
    by_text = {p.text: p for p in index.data["propositions"].values()}
    assert by_text["Ann wrote Tides"].sources == ("b",)


def test_a_changed_corpus_is_not_answered_from_old_embeddings(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path / "store")
    index_of(ROWS, tmp_path, store)
    changed = index_of(dict(ROWS, a=[["Bob", "wrote", "Dunes"]]), tmp_path, store)
    assert found(changed, "Bob wrote Dunes") == ["Bob wrote Dunes"]
    assert "Ann lives in Oby" not in found(changed, "Ann lives in Oby", k=9)


def test_growing_gives_what_building_at_once_gives(tmp_path: Path) -> None:
    grown_store = ArtifactStore(tmp_path / "grown")
    index_of({"a": ROWS["a"]}, tmp_path, grown_store)
    grown = index_of(ROWS, tmp_path, grown_store)
    at_once = index_of(ROWS, tmp_path, ArtifactStore(tmp_path / "at_once"))
    assert grown.data == at_once.data
    queries = ["Ann", "the Esk", "Oby"]
    search = [i.retrievers["propositions"].search(queries, 9) for i in (grown, at_once)]
    assert search[0] == search[1]


def test_the_triplets_can_be_read_by_people(tmp_path: Path) -> None:
    index_of(ROWS, tmp_path, ArtifactStore(tmp_path / "store"))
    (export,) = (tmp_path / "store").glob("triplet-export/*/triplets.jsonl")
    lines = [json.loads(line) for line in export.read_text(encoding="utf-8").splitlines()]
    assert lines[0] == {"id": "a", "triplets": [list(row) for row in ROWS["a"]]}


async def test_no_triplet_at_all_is_no_crash(tmp_path: Path) -> None:
    index = index_of({"a": [], "b": []}, tmp_path, ArtifactStore(tmp_path / "store"))
    assert index.counts["propositions"] == 0
    script = {
        "decompose": ['{"triplets": [["Ann", "wrote", "?answer"]]}'],
        "resolve": ['{"triplets": []}'],
        "answer": ["unknown"],
    }
    parts = Parts(llm=Scripted.of(script), encoder=None, prompts=PromptLibrary())  # type: ignore[arg-type]
    system = T2RAG(build(T2RAGConfig, {"extractor": "rules"}), parts)
    answer = await system.solve("What did Ann write?", index, Trace("q"))
    assert answer.text == "unknown"
    assert answer.evidence == () and answer.rounds == 1


INDEXING = """
import sys, time
from rag_research.config import build
from rag_research.corpus.corpus import Corpus
from rag_research.index.flat import Flat
from rag_research.llm.scripted import Scripted
from rag_research.prompts.library import PromptLibrary
from rag_research.registry import ENCODERS
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.systems.base import Parts
from rag_research.systems.t2rag import T2RAG, T2RAGConfig
from rag_research.types import Passage

store, calls, pause = sys.argv[1], sys.argv[2], float(sys.argv[3])

def reply(request):
    text = request.messages[-1].content
    who = next(f"Person {n:02}" for n in range(30) if f"Person {n:02}" in text)
    with open(calls, "a") as file:
        file.write(f"{request.purpose} {who}\\n")
    time.sleep(pause)
    if request.purpose == "openie_entities":
        return f'["{who}"]'
    return f'[["{who}", "lives in", "Oby"]]'

hashing = ENCODERS.get("hashing")
llm = Scripted.of(reply)
parts = Parts(llm, hashing(hashing.Config()), PromptLibrary(), Flat.Config(), concurrency=2)
corpus = Corpus(Passage(f"p{n}", "", f"Person {n:02} lives in Oby.") for n in range(30))
index = T2RAG(build(T2RAGConfig, {}), parts).index(corpus, ArtifactStore(store))
print(sorted(p.text for p in index.data["propositions"].values()), index.usage)
"""


def test_kill_9_in_the_middle_of_indexing_repeats_only_what_was_under_way(tmp_path: Path) -> None:
    calls = tmp_path / "calls.txt"

    def start(store: str, pause: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-c", INDEXING, str(tmp_path / store), str(calls), pause]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    whole, _ = start("uninterrupted", "0").communicate(timeout=120)
    calls.unlink()
    killed = start("killed", "0.05")
    deadline = time.monotonic() + 60
    while not calls.exists() or len(calls.read_text().splitlines()) < 20:
        assert time.monotonic() < deadline and killed.poll() is None
        time.sleep(0.01)
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    resumed, _ = start("killed", "0").communicate(timeout=120)
    asked = calls.read_text().splitlines()
    assert resumed == whole != ""
    # Two passages of two calls each may have been under way.
    assert 60 <= len(asked) <= 64
    assert len(set(asked)) == 60
