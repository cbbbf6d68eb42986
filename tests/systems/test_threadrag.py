"""ThreadRAG's whole loop over a real index, against a scripted model."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from rag_research.config import build
from rag_research.corpus.corpus import Corpus
from rag_research.embed.base import Role, Vectors
from rag_research.embed.hashing import Hashing, HashingConfig
from rag_research.errors import ConfigError
from rag_research.llm.scripted import Scripted
from rag_research.prompts.library import PromptLibrary
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.systems.base import Parts
from rag_research.systems.saved import build_index, open_index
from rag_research.systems.threadrag import ThreadRAG, ThreadRAGConfig
from rag_research.trace import Trace
from rag_research.types import Answer, Passage

QUESTION = "Where was the director of Salt Road born?"
CORPUS = Corpus(
    [
        Passage(
            "film", "Salt Road", "Salt Road is a film. Mia Orr directed Salt Road. It is long."
        ),
        Passage("person", "Mia Orr", "Mia Orr is a director. Mia Orr was born in Keld."),
        Passage("town", "Keld", "Keld is a town on the Esk. Sheep graze there."),
        Passage("bread", "Rye", "Rye is a grain. Bakers use flour, water and yeast."),
        Passage("empty", "", ""),
    ]
)
ENOUGH = '{"missing": [], "sufficient": true}'
ANSWER = "Mia Orr was born in Keld. <answer>Keld</answer>"
NAMES = '["Salt Road"]'
PUBLISHED = {"selector": "threshold", "connectivity": "bfs"}
FAST = {
    "segmenter": "sentences",
    "entities": "capitalised",
    "extractor": "rules",
    "retrieval": "hybrid",
    "question_entities": "llm",
    "pathfinding": PUBLISHED,
}


class CountingEncoder(Hashing):
    """Remembers what it encoded."""

    def __init__(self) -> None:
        super().__init__(HashingConfig(dimension=128))
        self.encoded: list[str] = []

    def encode(self, texts, role: Role) -> Vectors:
        self.encoded += [text for text in texts if role == "passage"]
        return super().encode(texts, role)


def missing(*triplets: list[str]) -> str:
    return json.dumps({"sufficient": False, "missing": triplets})


BORN = missing(["Mia Orr", "born in", "?"])


def run(
    script: Any, tmp_path: Path, corpus: Corpus = CORPUS, question: str = QUESTION, **settings: Any
) -> tuple[Answer, Trace, Scripted]:
    llm = Scripted.of(script)
    config = build(ThreadRAGConfig, {**FAST, "documents": 1, **settings})
    system = ThreadRAG(config, Parts(llm=llm, encoder=CountingEncoder(), prompts=PromptLibrary()))
    index = system.index(corpus, ArtifactStore(tmp_path))
    assert not llm.requests or config.extractor.name == "openie"
    trace = Trace("q1")
    return asyncio.run(system.solve(question, index, trace)), trace, llm


def script(*verdicts: str, entities: str = NAMES, answer: str = ANSWER) -> dict[str, list[str]]:
    return {"entities": [entities] * 2, "discriminate": [*verdicts], "answer": [answer]}


def steps(trace: Trace, name: str) -> list[dict[str, Any]]:
    return [line for line in trace.lines() if line["step"] == name]


def test_sufficient_at_once(tmp_path: Path) -> None:
    answer, trace, llm = run(script(ENOUGH), tmp_path)
    assert (answer.text, answer.rounds) == ("Keld", 1)
    assert answer.stats["sufficient"] == 1
    assert [hit.id for hit in answer.evidence] == ["film"]
    names = [line["step"] for line in trace.lines()]
    assert names == ["entities", "retrieve", "topology", "pathfind", "discriminate", "synthesise"]
    assert [r.purpose for r in llm.requests] == ["entities", "discriminate", "answer"]
    assert steps(trace, "retrieve")[0]["queries"] == [QUESTION, "Salt Road"]


def test_two_rounds_fold_the_new_document_in(tmp_path: Path) -> None:
    answer, trace, llm = run(script(BORN, ENOUGH), tmp_path)
    assert (answer.text, answer.rounds) == ("Keld", 2)
    assert steps(trace, "retrieve")[1]["queries"] == ["Mia Orr born in"]
    assert steps(trace, "retrieve")[1]["new"] == ["person"]
    assert [line["nodes"] for line in steps(trace, "topology")] == [3, 5]
    assert [line["added"] for line in steps(trace, "topology")] == [3, 2]
    assert steps(trace, "topology")[1]["edges"]["lexical"] >= 1
    assert [len(line["spans"]) for line in steps(trace, "topology")] == [3, 2]
    assert [len(line["links"]) for line in steps(trace, "topology")] == [
        line["edges"]["all"] for line in steps(trace, "topology")
    ]
    assert {hit.id for hit in answer.evidence} == {"film", "person"}
    assert "Mia Orr was born in Keld." in llm.requests[-1].messages[-1].content
    cost = {purpose: usage.calls for purpose, usage in trace.usage.items()}
    assert cost == {"entities": 1, "discriminate": 2, "answer": 1}


def test_by_the_question_alone_the_folded_in_document_need_not_be_read(tmp_path: Path) -> None:
    question = "Where was the director of Salt Road, a film that is long, born?"
    read = {}
    for focus in ("question", "question_and_missing"):
        path = {"anchors": 1, "focus": focus, "selector": {"name": "threshold", "energy": 0.2}}
        _, trace, _ = run(script(BORN, ENOUGH), tmp_path, question=question, pathfinding=path)
        last = steps(trace, "pathfind")[-1]
        read[focus] = {document for document, _, _ in last["kept"]}
        assert len(last["anchors"]) == (1 if focus == "question" else 2)
    assert read["question"] == {"film"}
    assert read["question_and_missing"] == {"film", "person"}


def test_evidence_is_verbatim_spans_in_reading_order(tmp_path: Path) -> None:
    answer, _, llm = run(script(BORN, ENOUGH), tmp_path)
    for span in answer.spans:
        assert CORPUS[span.document_id].text[span.start : span.end] == span.text
    places = [(span.document_id, span.start) for span in answer.spans]
    assert sorted(places) == sorted(set(places))
    prompt = llm.requests[-1].messages[-1].content
    assert "Salt Road\nSalt Road is a film. Mia Orr directed Salt Road. It is long." in prompt


def test_stops_when_nothing_new_is_retrieved(tmp_path: Path) -> None:
    answer, trace, _ = run(script(missing(["Salt Road", "director", "?"])), tmp_path)
    assert answer.rounds == 1
    assert answer.stats["sufficient"] == 0
    assert steps(trace, "retrieve")[1]["new"] == []
    assert len(steps(trace, "pathfind")) == 1


def test_the_iteration_limit_holds_and_the_last_round_is_not_judged(tmp_path: Path) -> None:
    asked = [missing([name, "is", "?"]) for name in ("Mia Orr", "Keld", "Rye")]
    for limit in (1, 2, 3):
        answer, trace, _ = run(script(*asked), tmp_path, iterations=limit)
        assert answer.rounds == len(steps(trace, "pathfind")) == limit
        assert len(steps(trace, "discriminate")) == limit - 1


@pytest.mark.parametrize(
    ("verdict", "read"),
    [
        ("no idea", False),
        ('{"missing": [["a", "b", "?"]]}', False),
        ('{"sufficient": "maybe"}', False),
        ('{"sufficient": false, "missing": []}', True),
        ('{"sufficient": false, "missing": "much"}', True),
        (missing(["?", "?", "?"]), True),
    ],
)
def test_a_verdict_that_asks_for_nothing_ends_the_loop(
    tmp_path: Path, verdict: str, read: bool
) -> None:
    answer, trace, _ = run(script(verdict, verdict), tmp_path)
    assert (answer.text, answer.rounds) == ("Keld", 1)
    assert (steps(trace, "discriminate")[0]["verdict"] is not None) is read


def test_unreadable_entities_fall_back_to_spelling(tmp_path: Path) -> None:
    _, trace, _ = run(script(ENOUGH, entities="hm"), tmp_path)
    assert steps(trace, "entities")[0]["entities"] == ["Salt Road"]


@pytest.mark.parametrize(
    ("question", "named", "kept"),
    [
        (QUESTION, '["Salt Road", "Elin", "Director"]', ["Salt Road"]),
        ("who directed salt road?", '["Salt Road", "Elin"]', ["Salt Road"]),
        (
            "Who directed  Salt\tRoad?",
            '{"entities": ["Salt  Road", "salt road", 7]}',
            ["Salt Road"],
        ),
    ],
)
def test_names_the_question_does_not_hold_are_dropped(
    tmp_path: Path, question: str, named: str, kept: list[str]
) -> None:
    _, trace, _ = run(script(ENOUGH, entities=named), tmp_path, question=question)
    assert steps(trace, "entities")[0]["entities"] == kept


def test_no_entities_at_all(tmp_path: Path) -> None:
    answer, trace, _ = run(
        script(ENOUGH, entities="[]"), tmp_path, question="who bakes with yeast?"
    )
    assert steps(trace, "retrieve")[0]["queries"] == ["who bakes with yeast?"]
    assert [hit.id for hit in answer.evidence] == ["bread"]


def test_spelling_asks_no_model(tmp_path: Path) -> None:
    _, trace, llm = run(script(ENOUGH), tmp_path, question_entities="spelling")
    assert [r.purpose for r in llm.requests] == ["discriminate", "answer"]
    assert steps(trace, "entities")[0]["entities"] == ["Salt Road"]


@pytest.mark.parametrize("passages", [[], [Passage("e", "", "")], [Passage("t", "Title", "")]])
def test_a_corpus_without_text(tmp_path: Path, passages: list[Passage]) -> None:
    answer, _, _ = run(script(ENOUGH, answer="<answer>unknown"), tmp_path, Corpus(passages))
    assert (answer.text, answer.evidence, answer.spans) == ("unknown", (), ())


@pytest.mark.parametrize(
    "text", ["東京は大きい。川がある。", "القاهرة مدينة. النهر طويل؟", "😀", "A &amp; B"]
)
def test_other_scripts_and_short_texts(tmp_path: Path, text: str) -> None:
    corpus = Corpus([Passage("p", "題", text)])
    answer, _, llm = run(script(ENOUGH), tmp_path, corpus, question=text)
    assert "".join(span.text for span in answer.spans) == text
    assert text in llm.requests[-1].messages[-1].content


def test_a_long_document_comes_in_chunks_and_overlaps_count_once(tmp_path: Path) -> None:
    text = " ".join(f"Sentence {n} tells of Keld and house {n}." for n in range(6000))
    assert len(text) > 200_000
    answer, trace, _ = run(
        script(ENOUGH), tmp_path, Corpus([Passage("long", "L", text)]), documents=5
    )
    assert steps(trace, "topology")[0]["nodes"] < 250
    assert {hit.id for hit in answer.evidence} == {"long"}
    for span in answer.spans:
        assert text[span.start : span.end] == span.text


def test_chunks_of_a_folder_are_one_document(tmp_path: Path) -> None:
    whole = "Elin Marrow drew towers all day long. The Torvane Lighthouse was drawn by Elin Marrow."
    corpus = Corpus([Passage("f#1", "F", whole[:60]), Passage("f#2", "F", whole[20:])])
    answer, _, _ = run(
        script(ENOUGH, entities="[]"), tmp_path, corpus, question="tower drawn", documents=2
    )
    assert "".join(span.text for span in answer.spans) == whole
    assert {span.document_id for span in answer.spans} == {"f"}
    assert {hit.id for hit in answer.evidence} <= {"f#1", "f#2"}


def test_construction_costs_no_tokens_and_only_new_spans_are_embedded(tmp_path: Path) -> None:
    encoder, llm, store = CountingEncoder(), Scripted.of([]), ArtifactStore(tmp_path)
    system = ThreadRAG(build(ThreadRAGConfig, FAST), Parts(llm, encoder, PromptLibrary()))
    first = Corpus(list(CORPUS)[:2])
    index = system.index(first, store)
    assert index.usage == {}
    assert llm.requests == []
    assert index.counts["spans"] == 5
    before = len(encoder.encoded)
    grown = system.index(CORPUS, store)
    assert llm.requests == []
    fresh = encoder.encoded[before:]
    assert "Mia Orr was born in Keld." not in fresh
    assert sum(text.startswith("Keld is a town on the Esk.") for text in fresh) == 1
    scratch = system.index(CORPUS, ArtifactStore(tmp_path / "other"))
    assert grown.counts == scratch.counts
    grown_nodes, grown_vectors = grown.data["library"].spans(CORPUS.ids)
    nodes, vectors = scratch.data["library"].spans(CORPUS.ids)
    assert grown_nodes == nodes
    assert (grown_vectors == vectors).all()
    again = len(encoder.encoded)
    system.index(CORPUS, store)
    assert len(encoder.encoded) == again


def test_titles_can_be_embedded_and_count_as_entities(tmp_path: Path) -> None:
    encoder = CountingEncoder()
    settings = {**FAST, "embedded": "titled_span", "title_entity": "each_span"}
    system = ThreadRAG(
        build(ThreadRAGConfig, settings), Parts(Scripted.of([]), encoder, PromptLibrary())
    )
    index = system.index(CORPUS, ArtifactStore(tmp_path))
    assert "Salt Road\nIt is long." in encoder.encoded
    nodes, _ = index.data["library"].spans(["film"])
    assert all("salt road" in node.entities for node in nodes)


def test_a_saved_index_is_asked_without_its_corpus(tmp_path: Path) -> None:
    settings = ["system=threadrag", "system.entities=capitalised", "encoder=hashing"]
    settings += ["llm=scripted", f"llm.replies=['[\"Salt Road\"]','{ENOUGH}','<answer>Keld']"]
    build_index(CORPUS, tmp_path / "saved", settings)
    opened = open_index(tmp_path / "saved")
    answer, _ = opened.ask(QUESTION)
    assert answer.text == "Keld"
    assert {span.document_id for span in answer.spans} >= {"film"}


def test_the_same_replies_give_the_same_bytes(tmp_path: Path) -> None:
    def line(where: Path, corpus: Corpus) -> str:
        answer, trace, _ = run(script(BORN, ENOUGH), where, corpus, documents=3)
        rows = [{k: v for k, v in row.items() if k != "seconds"} for row in trace.lines()]
        for call in (call for row in rows for call in row["calls"]):
            call.pop("seconds", None)
        return json.dumps([rows, repr(answer)])

    backwards = Corpus(reversed(list(CORPUS)))
    assert line(tmp_path / "1", CORPUS) == line(tmp_path / "2", backwards)


def test_impossible_settings_are_refused() -> None:
    for setting in ({"iterations": 0}, {"chunk_overlap": 1200}, {"documents": 0}):
        with pytest.raises(ConfigError):
            build(ThreadRAGConfig, {**FAST, **setting})


def test_triplets_as_units_are_what_is_read(tmp_path: Path) -> None:
    facts = tmp_path / "facts.jsonl"
    rows = [{"id": "film", "triplets": [["Salt Road", "directed by", "Mia Orr"]]}]
    rows.append({"id": "person", "triplets": [["Mia Orr", "born in", "Keld"]]})
    facts.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    imported = {"name": "imported", "path": str(facts)}
    settings = {"units": "triplets", "extractor": imported, "documents": 2}
    answer, _, llm = run(script(ENOUGH), tmp_path, **settings)
    shown = llm.requests[-1].messages[-1].content
    assert "Salt Road directed by Mia Orr." in shown
    assert "It is long." not in shown
    assert answer.evidence[0].id == "film"
    for name, line in {
        "kg_triplets": "(Mia Orr, born in, Keld)",
        "kg_paths": "Salt Road - directed by -> Mia Orr - born in -> Keld",
        "kg_texts": "Mia Orr born in Keld.",
    }.items():
        settings = {"evidence": name, "extractor": imported, "documents": 2}
        _, _, llm = run(script(ENOUGH), tmp_path, **settings)
        assert line in llm.requests[-1].messages[-1].content
        assert "It is long." not in llm.requests[-1].messages[-1].content
