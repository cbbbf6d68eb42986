"""LLM OpenIE with a scripted model: what is stored, counted, repeated and paid."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rag_research.corpus.corpus import Corpus
from rag_research.errors import BudgetExceededError, LLMError, ParseError
from rag_research.extract.openie import OpenIE, OpenIEConfig, read_entities, read_triples
from rag_research.extract.triplets import Extraction
from rag_research.llm.base import Completion, Request
from rag_research.llm.scripted import Scripted
from rag_research.prompts.library import PromptLibrary
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.types import Passage, Triplet

PROMPTS = PromptLibrary()
A = Passage("a", "Ilka", "Ilka founded Vellamy.")
B = Passage("b", "Orrest", "Orrest is in Tavrinia.")
C = Passage("c", "Blank", "Nothing to say.")


class Model(Scripted):
    """A scripted model with one identity whatever it answers, so that runs share a store."""

    @property
    def identity(self) -> dict[str, str]:
        return {"backend": "scripted", "model": "test"}


def model(script: Callable[[Request], str]) -> Model:
    made = Model.of(script)
    assert isinstance(made, Model)
    return made


def good(request: Request) -> str:
    asked = request.messages[-1].content
    if request.purpose == "openie_entities":
        return '["Ilka", "Vellamy"]'
    if "Orrest" in asked:
        return '[["Orrest", "is in", "Tavrinia"], ["Orrest", "is in", "Tavrinia"], ["x"]]'
    return "[]" if "Blank" in asked else '[["Ilka", "founded", "Vellamy"]]'


def run(llm: Model, store: Path, *passages: Passage, concurrency: int = 2) -> Extraction:
    extractor = OpenIE(OpenIEConfig())
    return extractor.extract(Corpus(passages), ArtifactStore(store), llm, PROMPTS, concurrency)


def test_two_calls_a_passage_and_the_counts(tmp_path: Path) -> None:
    llm = model(good)
    extraction = run(llm, tmp_path, A, B, C)
    assert len(llm.requests) == 6
    assert extraction.triplets == {
        "a": (Triplet("Ilka", "founded", "Vellamy"),),
        "b": (Triplet("Orrest", "is in", "Tavrinia"),),
        "c": (),
    }
    report = extraction.report
    assert (report["rejects"], report["duplicates"], report["empty"]) == (1, 1, 1)
    assert (report["failed"], report["repaired"], report["reused"]) == (0, 0, 0)
    assert extraction.usage["openie_entities"].calls == 3
    assert extraction.usage["openie_triples"].calls == 3
    triples = next(r for r in llm.requests if r.purpose == "openie_triples")
    assert '["Ilka", "Vellamy"]' in triples.messages[-1].content
    assert triples.prompt == "openie/triples@1"


def test_a_second_run_asks_nothing_and_reports_the_same_cost(tmp_path: Path) -> None:
    first = run(model(good), tmp_path, A, B, C)
    again = model(good)
    second = run(again, tmp_path, A, B, C)
    assert again.requests == []
    assert second.triplets == first.triplets
    assert second.usage == first.usage
    assert second.report == {**first.report, "reused": 3}


def test_a_grown_corpus_equals_one_from_scratch(tmp_path: Path) -> None:
    run(model(good), tmp_path / "grown", A, C)
    llm = model(good)
    grown = run(llm, tmp_path / "grown", A, B, C)
    assert len(llm.requests) == 2
    scratch = run(model(good), tmp_path / "scratch", A, B, C, concurrency=1)
    assert grown.triplets == scratch.triplets
    assert grown.fingerprint == scratch.fingerprint
    assert {k: u.calls for k, u in grown.usage.items()} == {
        k: u.calls for k, u in scratch.usage.items()
    }


def test_equal_passages_are_asked_once(tmp_path: Path) -> None:
    llm = model(good)
    extraction = run(llm, tmp_path, A, Passage("copy", A.title, A.text))
    assert len(llm.requests) == 2
    assert extraction.triplets["copy"] == extraction.triplets["a"] != ()


def test_unreadable_replies_are_counted_not_stored_and_asked_again(tmp_path: Path) -> None:
    def bad(request: Request) -> str:
        hopeless = request.purpose == "openie_triples" and "Orrest is in" in str(request.messages)
        return "I cannot." if hopeless else good(request)

    first = run(model(bad), tmp_path, A, B)
    assert first.triplets["b"] == ()
    assert (first.report["failed"], first.report["empty"]) == (1, 0)
    assert first.usage["openie_triples"].calls == 3  # one good, one bad, its repair
    llm = model(good)
    second = run(llm, tmp_path, A, B)
    assert len(llm.requests) == 2
    assert second.report["failed"] == 0
    assert second.triplets["b"] == (Triplet("Orrest", "is in", "Tavrinia"),)


def test_a_repair_and_guessed_entities_are_counted(tmp_path: Path) -> None:
    def shaky(request: Request) -> str:
        if request.purpose == "openie_entities":
            return "none"
        return good(request) if "+repair" in request.prompt else "here you go"

    llm = model(shaky)
    extraction = run(llm, tmp_path, A)
    assert extraction.triplets["a"] == (Triplet("Ilka", "founded", "Vellamy"),)
    assert extraction.report["repaired"] == extraction.report["entities_guessed"] == 1
    asked = next(r for r in llm.requests if r.purpose == "openie_triples")
    assert 'Entities: ["Ilka", "Vellamy"]' in asked.messages[-1].content


def test_an_interrupted_run_keeps_what_is_finished(tmp_path: Path) -> None:
    def dies(request: Request) -> str:
        if "Blank" in request.messages[-1].content:
            raise KeyboardInterrupt
        return good(request)

    with pytest.raises(KeyboardInterrupt):
        run(model(dies), tmp_path, A, B, C, concurrency=1)
    [log] = (tmp_path / "triplets").glob("items-*.jsonl")
    with log.open("a", encoding="utf-8") as file:  # a line torn by the kill
        file.write('{"key": "abc", "value": {"tri')
    llm = model(good)
    resumed = run(llm, tmp_path, A, B, C)
    assert len(llm.requests) == 2
    whole = run(model(good), tmp_path / "whole", A, B, C)
    assert resumed.triplets == whole.triplets
    assert resumed.usage.keys() == whole.usage.keys()


class Failing(Model):
    """Raises for passages about Orrest."""

    error: Exception = LLMError("connection refused")

    async def complete(self, request: Request) -> Completion:
        if "Orrest" in request.messages[-1].content:
            raise self.error
        return await super().complete(request)


def test_a_failed_call_costs_one_passage(tmp_path: Path) -> None:
    llm = Failing.of(good)
    assert isinstance(llm, Failing)
    extraction = run(llm, tmp_path, A, B, C)
    assert extraction.report["failed"] == 1
    assert extraction.triplets["a"] != ()
    with pytest.raises(LLMError, match=r"all 1 items.*connection refused"):
        run(llm, tmp_path, A, B, C)


def test_a_spent_budget_ends_the_run_and_keeps_the_rest(tmp_path: Path) -> None:
    llm = Failing.of(good)
    assert isinstance(llm, Failing)
    llm.error = BudgetExceededError("spent")
    with pytest.raises(BudgetExceededError):
        run(llm, tmp_path, A, B, C, concurrency=1)
    after = model(good)
    run(after, tmp_path, A, B, C)
    assert len(after.requests) == 4


def test_other_prompts_or_models_are_other_items(tmp_path: Path) -> None:
    run(model(good), tmp_path / "store", A)
    folder = tmp_path / "prompts" / "openie"
    folder.mkdir(parents=True)
    (folder / "triples.md").write_text("version: 1\n\n# user\n{{passage}} {{entities}}\n")
    llm = model(good)
    changed = PromptLibrary(tmp_path / "prompts")
    store = ArtifactStore(tmp_path / "store")
    OpenIE(OpenIEConfig()).extract(Corpus([A]), store, llm, changed, 1)
    assert len(llm.requests) == 2
    OpenIE(OpenIEConfig(triple_tokens=9)).extract(Corpus([A]), store, llm, changed, 1)
    assert len(llm.requests) == 4


def test_empty_corpus_and_empty_passage(tmp_path: Path) -> None:
    llm = model(good)
    assert run(llm, tmp_path).triplets == {}
    blank = run(llm, tmp_path, Passage("e", "", "  "))
    assert blank.triplets == {"e": ()}
    assert blank.report["empty"] == 1
    assert llm.requests == []


@pytest.mark.parametrize(
    ("reply", "names"),
    [
        ('["Ilka ", "Ilka", "Orrest  Hill"]', ["Ilka", "Orrest Hill"]),
        ('{"named_entities": ["Ilka"]}', ["Ilka"]),
        ('[{"name": "Ilka", "type": "person"}, 3]', ["Ilka"]),
        ("[]", []),
    ],
)
def test_entity_replies(reply: str, names: list[str]) -> None:
    assert read_entities(json.loads(reply)) == names


@pytest.mark.parametrize("reply", ["3", '{"x": 1}', "[1, 2]", '"Ilka"'])
def test_entity_replies_that_are_none(reply: str) -> None:
    with pytest.raises(ParseError):
        read_entities(json.loads(reply))


@pytest.mark.parametrize(
    ("reply", "rejects"),
    [
        ('[["a", "b", "c"]]', 0),
        ('{"triples": [["a", "b", "c"], ["a"]]}', 1),
        ('[{"subject": "a", "relation": "b", "object": "c"}, {"subject": "a"}]', 1),
        ('{"subject": "a", "predicate": "b", "object": "c"}', 0),
        ('["a", "b", "c"]', 0),
    ],
)
def test_triple_replies(reply: str, rejects: int) -> None:
    rows = read_triples(json.loads(reply))
    assert rows.triplets == (Triplet("a", "b", "c"),)
    assert rows.rejects == rejects


@pytest.mark.parametrize("reply", ["3", '[["a", "b"]]', '{"x": 1}', '["a", "b"]'])
def test_triple_replies_that_are_none(reply: str) -> None:
    with pytest.raises(ParseError):
        read_triples(json.loads(reply))
