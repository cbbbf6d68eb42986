"""The online loop against a scripted model, step by step as in the paper's algorithm."""

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from rag_research.config import build
from rag_research.corpus.corpus import Corpus
from rag_research.index.propositions import collect_propositions
from rag_research.llm.scripted import Scripted
from rag_research.prompts.library import PromptLibrary
from rag_research.systems.base import Index, Parts
from rag_research.systems.t2rag import T2RAG, T2RAGConfig
from rag_research.trace import Trace
from rag_research.types import Answer, Hit, Passage, Triplet

QUESTION = "Where was the director of Salt Road born?"
TRIPLETS = {
    "film": (Triplet("Salt Road", "directed by", "Mia Orr"), Triplet("Salt Road", "is", "a film")),
    "person": (Triplet("Mia Orr", "born in", "Keld"),),
    "town": (Triplet("Keld", "lies on", "the Esk"), Triplet("Salt Road", "shown in", "Keld")),
}
CORPUS = Corpus(Passage(id, id.title(), f"About {id}.") for id in TRIPLETS)


class WordOverlap:
    """Ranks propositions by the words they share with the query; a real, small retriever."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts
        self.queries: list[list[str]] = []

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        self.queries.append(list(queries))
        return [self._rank(q)[:k] for q in queries]

    def _rank(self, query: str) -> list[Hit]:
        words = set(re.findall(r"\w+", query.lower()))
        scores = {
            id: len(words & set(re.findall(r"\w+", text.lower())))
            for id, text in self.texts.items()
        }
        order = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
        return [Hit(id, float(score)) for id, score in order]


def reply(*triplets: Sequence[str]) -> str:
    return json.dumps({"triplets": triplets})


def run(script: Any, **settings: Any) -> tuple[Answer, Trace, Scripted, WordOverlap]:
    llm = Scripted.of(script)
    config = build(T2RAGConfig, {"extractor": "rules", "k": 2, **settings})
    propositions = collect_propositions(TRIPLETS)
    retriever = WordOverlap({id: p.text for id, p in propositions.items()})
    index = Index(CORPUS, {"propositions": retriever}, {"propositions": propositions}, {})
    parts = Parts(llm=llm, encoder=None, prompts=PromptLibrary())  # type: ignore[arg-type]
    trace = Trace("q1")
    answer = asyncio.run(T2RAG(config, parts).solve(QUESTION, index, trace))
    return answer, trace, llm, retriever


DECOMPOSED = reply(["Salt Road", "director", "?d"], ["?d", "born in", "?place"])
FOUND_DIRECTOR = reply(["Salt Road", "director", "Mia Orr"])
FOUND_PLACE = reply(["Mia Orr", "born in", "Keld"])


def steps(trace: Trace, name: str) -> list[dict[str, Any]]:
    return [line for line in trace.lines() if line["step"] == name]


def test_two_hops_in_two_rounds() -> None:
    answer, trace, llm, retriever = run(
        {
            "decompose": [DECOMPOSED],
            "resolve": [FOUND_DIRECTOR, FOUND_PLACE],
            "answer": ["Keld"],
        }
    )
    assert answer.text == "Keld"
    assert answer.rounds == 2
    assert answer.facts == (
        Triplet("Salt Road", "director", "Mia Orr"),
        Triplet("Mia Orr", "born in", "Keld"),
    )
    assert answer.stats["resolved"] == 1
    assert retriever.queries == [["Salt Road director"], ["Mia Orr born in"]]
    names = [line["step"] for line in trace.lines()]
    assert names == ["decompose", "retrieve", "resolve", "retrieve", "resolve", "synthesise"]
    assert [r.purpose for r in llm.requests] == ["decompose", "resolve", "resolve", "answer"]
    assert trace.usage["resolve"].calls == 2


def test_the_answer_is_made_from_triplets_alone() -> None:
    _, _, llm, _ = run(
        {"decompose": [DECOMPOSED], "resolve": [FOUND_DIRECTOR, FOUND_PLACE], "answer": ["Keld"]}
    )
    last = llm.requests[-1].messages[-1].content
    assert '["Mia Orr", "born in", "Keld"]' in last
    assert "About person." not in last


def test_one_model_call_can_solve_everything() -> None:
    answer, _, _, _ = run(
        {
            "decompose": [DECOMPOSED],
            "resolve": [FOUND_DIRECTOR[:-2] + ", " + FOUND_PLACE[14:]],
            "answer": ["Keld"],
        }
    )
    assert answer.rounds == 1
    assert len(answer.facts) == 2


def test_unanswered_triplets_are_tried_again_after_something_changed() -> None:
    decomposed = reply(["Salt Road", "director", "?d"], ["Salt Road", "shown in", "?town"])
    answer, _, _, retriever = run(
        {
            "decompose": [decomposed],
            "resolve": [FOUND_DIRECTOR, reply(["Salt Road", "shown in", "Keld"])],
            "answer": ["Keld"],
        }
    )
    assert answer.rounds == 2
    assert retriever.queries[1] == ["Salt Road shown in"]


def test_stops_when_a_round_changes_nothing() -> None:
    answer, trace, _, _ = run(
        {"decompose": [DECOMPOSED], "resolve": [reply()], "answer": ["unknown"]}
    )
    assert answer.rounds == 1
    assert answer.stats["resolved"] == 0
    (last,) = steps(trace, "synthesise")
    assert last["facts"] == [{"subject": "Salt Road", "predicate": "director", "object": "?d"}]


def test_nothing_decomposed_and_nothing_found_is_not_resolved() -> None:
    script = {"decompose": ["x"] * 4, "resolve": [reply()], "answer": ["unknown"]}
    answer, trace, llm, _ = run(script)
    assert steps(trace, "decompose")[0]["fallback"] is True
    assert (answer.facts, answer.stats["resolved"]) == ((), 0)
    assert [r.purpose for r in llm.requests] == [*["decompose"] * 4, "resolve", "answer"]


def test_the_round_limit_holds() -> None:
    chain = [["Salt Road", "r", "?a"], ["?a", "r", "?b"], ["?b", "r", "?c"], ["?c", "r", "?d"]]
    filled = ["Salt Road", "Ann", "Bob", "Cy", "Dee"]
    resolves = [reply([filled[n], "r", filled[n + 1]]) for n in range(4)]
    for limit in (1, 2, 3):
        answer, _, _, _ = run(
            {"decompose": [reply(*chain)], "resolve": resolves, "answer": ["x"]}, rounds=limit
        )
        assert answer.rounds == limit


def test_a_failed_decomposition_is_retried_with_a_shorter_prompt_then_falls_back() -> None:
    answer, trace, llm, retriever = run(
        {
            "decompose": ["no idea"] * 4,
            "resolve": [reply(["Salt Road", "directed by", "Mia Orr"])],
            "answer": ["Mia Orr"],
        }
    )
    prompts = [r.prompt.partition("+")[0] for r in llm.requests if r.purpose == "decompose"]
    assert prompts[0].startswith("t2rag/decompose@")
    assert prompts[-1].startswith("t2rag/decompose_short@")
    assert steps(trace, "decompose")[0]["fallback"] is True
    assert retriever.queries == [[QUESTION]]
    assert answer.text == "Mia Orr"


def test_nothing_searchable_means_the_question_is_the_query() -> None:
    _, _, _, retriever = run(
        {
            "decompose": [reply(["?film", "director", "?d"])],
            "resolve": [reply()],
            "answer": ["unknown"],
        }
    )
    assert retriever.queries == [[QUESTION]]


def test_an_unreadable_resolution_is_no_answer() -> None:
    answer, trace, _, _ = run(
        {"decompose": [DECOMPOSED], "resolve": ["garbage", "garbage"], "answer": ["unknown"]}
    )
    assert answer.facts == ()
    assert steps(trace, "resolve")[0]["filled"] is None


def test_context_without_source_chunks() -> None:
    script = {"decompose": [DECOMPOSED], "resolve": [reply()], "answer": ["x"]}
    _, _, with_chunks, _ = run(script)
    _, _, without, _ = run(script, context="propositions")
    assert "About film." in with_chunks.requests[1].messages[-1].content
    assert "About film." not in without.requests[1].messages[-1].content
    assert "Salt Road directed by Mia Orr" in without.requests[1].messages[-1].content


def test_names_the_context_does_not_say_are_dropped_on_request() -> None:
    script = {
        "decompose": [DECOMPOSED],
        "resolve": [reply(["Salt Road", "director", "Elin Marrow"])],
        "answer": ["unknown"],
    }
    strict, trace, _, _ = run(script, support="verbatim")
    assert strict.facts == ()
    assert steps(trace, "resolve")[0]["kept"] == []
    trusting, _, _, _ = run(script, rounds=1)
    assert trusting.facts == (Triplet("Salt Road", "director", "Elin Marrow"),)


def test_budget_counts_unique_chunks_or_propositions() -> None:
    script = {"decompose": [DECOMPOSED], "resolve": [reply()], "answer": ["x"]}
    chunks, _, _, _ = run(script, k=3)
    assert chunks.stats["unique_chunks"] == 3
    few, trace, _, _ = run(script, k=1, budget="propositions")
    assert len(steps(trace, "retrieve")[0]["propositions"]) == 1
    assert few.stats["unique_chunks"] == 1


def test_evidence_has_no_repeats() -> None:
    answer, _, _, _ = run(
        {"decompose": [DECOMPOSED], "resolve": [FOUND_DIRECTOR, FOUND_PLACE], "answer": ["Keld"]}
    )
    ids = [hit.id for hit in answer.evidence]
    assert len(ids) == len(set(ids)) == answer.stats["unique_chunks"]


@pytest.mark.parametrize("compat", ["paper", "released"])
def test_a_question_mark_in_a_title_is_a_variable_only_for_the_released_code(compat: str) -> None:
    decomposed = reply(["What Is It?", "director", "?d"])
    _, trace, _, _ = run(
        {"decompose": [decomposed], "resolve": [reply()], "answer": ["x"]}, compat=compat
    )
    kind = "searchable" if compat == "paper" else "fuzzy"
    assert len(steps(trace, "decompose")[0]["state"][kind]) == 1


def test_released_code_always_searches_the_question_too() -> None:
    _, _, _, retriever = run(
        {"decompose": [DECOMPOSED], "resolve": [reply()], "answer": ["x"]}, compat="released"
    )
    assert retriever.queries == [[QUESTION, "Salt Road director"]]


def test_released_code_does_not_try_an_unanswered_triplet_again() -> None:
    decomposed = reply(["Salt Road", "director", "?d"], ["Salt Road", "shown in", "?town"])
    answer, _, _, _ = run(
        {"decompose": [decomposed], "resolve": [FOUND_DIRECTOR], "answer": ["x"]},
        compat="released",
    )
    assert answer.rounds == 1


def test_unification_switched_off_leaves_the_second_hop_to_the_model() -> None:
    _, trace, _, _ = run(
        {
            "decompose": [DECOMPOSED],
            "resolve": [FOUND_DIRECTOR, reply(["Mia Orr", "born in", "Keld"])],
            "answer": ["Keld"],
        },
        unification="none",
    )
    assert len(steps(trace, "resolve")[0]["state"]["fuzzy"]) == 1
    assert len(steps(trace, "retrieve")) == 2


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(Exception, match="at least 1"):
        build(T2RAGConfig, {"extractor": "rules", "k": 0})
