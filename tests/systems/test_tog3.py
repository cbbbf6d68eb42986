"""ToG-3's whole loop against a scripted model: algorithm 2 of the paper, step by step."""

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag_research.config import build
from rag_research.corpus.corpus import Corpus
from rag_research.embed.hashing import Hashing, HashingConfig
from rag_research.errors import ConfigError, ModelNotFoundError
from rag_research.extract.rules import RulesConfig
from rag_research.graph.subgraph import Subgraph
from rag_research.index.flat import Flat
from rag_research.index.rerank import CrossEncoder, NoReranker
from rag_research.llm.base import Request
from rag_research.llm.scripted import Scripted
from rag_research.prompts.library import PromptLibrary
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.runtime.weights import resolve_model
from rag_research.solve.trajectory import Trajectory
from rag_research.systems.base import Parts
from rag_research.systems.saved import build_index, open_index
from rag_research.systems.tog3 import RERANKS, ToG3, ToG3Config, best
from rag_research.trace import Trace
from rag_research.types import Answer, Hit, Passage

pytest.importorskip("faiss")

QUESTION = "Where was the director of Salt Road born?"
BORN, WHERE = "Where was Mia Orr born?", "Where is Keld?"
CORPUS = Corpus(
    [
        Passage("film", "Salt Road", "Salt Road is a film that Mia Orr directed."),
        Passage("person", "Mia Orr", "Mia Orr was born in Keld."),
        Passage("town", "Keld", "Keld is a town on the Esk. Sheep graze there."),
        Passage("bread", "Rye", "Bakers use flour, water and yeast."),
        Passage("empty", "", ""),
    ]
)
INDEXED = {
    "Salt Road": ["Mia Orr", "directed", "Salt Road"],
    "Mia Orr": ["Mia Orr", "was born in", "Keld"],
    "Keld": ["Keld", "lies on", "Esk"],
}
ENOUGH = '{"missing": "", "sufficient": true}'
SHORT = '{"missing": "her town", "sufficient": false}'


def ask(question: str) -> str:
    return json.dumps({"question": question})


def rows(*triplets: list[str]) -> str:
    return json.dumps({"triplets": triplets})


def described(request: Request) -> str:
    """A reply to the index: the triplet above of the chunk that is asked about."""
    row = INDEXED.get(request.messages[-1].content.split("\n")[0])
    names = ("subject", "relation", "object")
    return json.dumps([dict(zip(names, row, strict=True))] if row else [])


def script(**replies: list[str]) -> Callable[[Request], str]:
    """What the loop is told, by purpose in order; by default the constructor finds nothing."""
    waiting = {"answer": ["<answer>Keld"], **{k: list(v) for k, v in replies.items()}}

    def reply(request: Request) -> str:
        if request.purpose == "extract":
            return described(request)
        if request.purpose == "summarise":
            return "A film-maker and her home town."
        if request.purpose in ("extract_for_question", "refine") and not waiting.get(
            request.purpose
        ):
            return '{"triplets": []}'
        return waiting[request.purpose].pop(0)

    return reply


def run(
    tmp_path: Path, script: Callable[[Request], str], corpus: Corpus = CORPUS, **settings: Any
) -> tuple[Answer, Trace, Scripted]:
    llm = Scripted.of(script)
    config = build(ToG3Config, settings)
    encoder = Hashing(HashingConfig(dimension=256))
    system = ToG3(config, Parts(llm, encoder, PromptLibrary(), build(Flat.Config, {})))
    index = system.index(corpus, ArtifactStore(tmp_path))
    llm.requests.clear()
    trace = Trace("q1")
    return asyncio.run(system.solve(QUESTION, index, trace)), trace, llm


def steps(trace: Trace, name: str) -> list[dict[str, Any]]:
    return [line for line in trace.lines() if line["step"] == name]


def names(trace: Trace) -> list[str]:
    return [line["step"] for line in trace.lines()]


ROUND = ["rerank", "respond", "reflect"]
EVOLVE = ["evolve_query", "evolve_subgraph"]


def test_sufficient_at_once(tmp_path: Path) -> None:
    answer, trace, llm = run(tmp_path, script(respond=["Keld"], reflect=[ENOUGH]))
    assert (answer.text, answer.rounds) == ("Keld", 1)
    assert names(trace) == ["retrieve", *ROUND, "synthesise"]
    assert [r.purpose for r in llm.requests] == ["respond", "reflect", "answer"]
    assert len(steps(trace, "retrieve")[0]["nodes"]) == 5
    kept = steps(trace, "rerank")[0]["kept"]
    assert len(kept) == 2
    assert set(kept) < {id for id, _ in steps(trace, "retrieve")[0]["nodes"]}
    assert answer.stats["stop_sufficient"] == 1
    assert steps(trace, "synthesise")[0]["stop"] == "sufficient"


def test_two_evolutions(tmp_path: Path) -> None:
    told = script(
        respond=["Mia Orr", "Unknown", "Keld"],
        reflect=[SHORT, ENOUGH],
        evolve_query=[ask(BORN), ask(WHERE)],
    )
    answer, trace, llm = run(tmp_path, told, top_k=2, keep=1)
    assert (answer.text, answer.rounds) == ("Keld", 3)
    assert names(trace) == ["retrieve", *(ROUND + EVOLVE) * 2, *ROUND, "synthesise"]
    assert [line["query"] for line in steps(trace, "respond")] == [QUESTION, BORN, WHERE]
    first, second = (r for r in llm.requests if r.purpose == "evolve_query")
    assert "Missing: her town" in first.messages[-1].content
    assert f"{QUESTION} Mia Orr" in first.messages[-1].content
    assert "Missing: not known" in second.messages[-1].content
    # The responder reads what was found before; the last step reads the whole trajectory.
    assert (
        f"{QUESTION} Mia Orr"
        in [r for r in llm.requests if r.purpose == "respond"][2].messages[-1].content
    )
    last = llm.requests[-1].messages[-1].content
    assert f"{WHERE} Keld" in last and f"{BORN} Unknown" not in last
    assert {hit.id for hit in answer.evidence} >= {"film", "person", "town"}
    for hit in answer.evidence[:3]:
        assert CORPUS[hit.id].contents in last


def test_unknown_is_insufficient_and_the_reflector_is_not_asked(tmp_path: Path) -> None:
    told = script(respond=["Unknown.", "Keld"], reflect=[ENOUGH], evolve_query=[ask(BORN)])
    answer, trace, llm = run(tmp_path, told)
    assert answer.rounds == 2
    assert [line["verdict"]["sufficient"] for line in steps(trace, "reflect")] == [False, True]
    assert [r.purpose for r in llm.requests].count("reflect") == 1


@pytest.mark.parametrize("reply", ['{"question": ""}', '{"question": null}', ask(QUESTION)])
def test_no_sub_question_ends_the_loop(tmp_path: Path, reply: str) -> None:
    told = script(respond=["Unknown"], evolve_query=[reply], answer=["<answer>unknown."])
    answer, trace, _ = run(tmp_path, told)
    assert (answer.text, answer.rounds) == ("Unknown", 1)
    assert names(trace) == ["retrieve", *ROUND, "evolve_query", "synthesise"]
    assert (answer.stats["stop_no_sub_question"], answer.stats["unknown"]) == (1, 1)
    assert answer.stats["unreadable_evolve_query"] == 0


@pytest.mark.parametrize("horizon", [1, 2, 3])
def test_the_horizon_is_reached_with_one_last_evolution(tmp_path: Path, horizon: int) -> None:
    told = script(
        respond=["Unknown"] * horizon,
        evolve_query=[ask(f"Question {n}?") for n in range(horizon)],
    )
    answer, trace, _ = run(tmp_path, told, horizon=horizon)
    assert answer.rounds == horizon
    assert names(trace) == ["retrieve", *(ROUND + EVOLVE) * horizon, "synthesise"]
    assert [line.get("round") for line in steps(trace, "respond")] == [*range(1, horizon + 1)]
    assert answer.stats["stop_horizon"] == 1


GUESS = ["Esk", "flows through", "Norvia"]


@pytest.mark.parametrize("inferred", ["hidden", "shown"])
def test_inferred_triplets_are_read_only_when_switched_on(tmp_path: Path, inferred: str) -> None:
    told = script(
        respond=["Unknown", "Keld"],
        reflect=[ENOUGH],
        evolve_query=[ask(WHERE)],
        refine=[rows(GUESS, ["Keld", "lies on", "Esk"])],
    )
    answer, trace, llm = run(tmp_path, told, inferred=inferred)
    shown = [r.purpose for r in llm.requests if "Norvia" in r.messages[-1].content]
    made = steps(trace, "evolve_subgraph")[0]["made"]
    assert [m["origin"] for m in made] == ["inferred"]
    assert made[0]["triplet"] == dict(zip(("subject", "predicate", "object"), GUESS, strict=True))
    assert answer.stats["inferred"] == 1
    if inferred == "hidden":
        assert shown == []
        assert all("Norvia" not in fact for fact in answer.facts)
    else:
        assert shown[-1] == "answer"
        assert any("Norvia" in fact for fact in answer.facts)


@pytest.mark.parametrize("agent", ["respond", "reflect", "evolve_query", "refine", "extract"])
def test_replies_that_cannot_be_read_are_counted_and_have_a_fallback(
    tmp_path: Path, agent: str
) -> None:
    replies = {
        "respond": ["Mia Orr", "Keld"],
        "reflect": [SHORT, ENOUGH],
        "evolve_query": [ask(BORN), ask(WHERE)],
    }
    agent = "extract_for_question" if agent == "extract" else agent
    if agent == "respond":  # what is read as Unknown is not judged
        replies |= {"respond": ["", "Keld"], "reflect": [ENOUGH]}
    else:  # the reply, and the one to the repair request
        replies[agent] = ["no idea", "none", *replies.get(agent, [])[1:]]
    answer, trace, _ = run(tmp_path, script(**replies))
    counted = {k: v for k, v in answer.stats.items() if k.startswith("unreadable") and v}
    assert counted == {f"unreadable_{agent}": 1}
    if agent == "respond":
        assert steps(trace, "respond")[0]["answer"] == "Unknown"
    if agent == "reflect":
        assert steps(trace, "reflect")[0]["verdict"]["sufficient"] is False
    assert answer.rounds == (1 if agent == "evolve_query" else 2)
    assert answer.text == "Keld"


@pytest.mark.parametrize("agents", ["several", "single"])
def test_no_prompt_holds_more_evidence_than_it_may(tmp_path: Path, agents: str) -> None:
    long = [Passage(f"p{n}", f"Keld {n}", " ".join([f"hay{n}"] * 60)) for n in range(6)]
    turn = json.dumps({"answer": "x", "sufficient": False, "question": BORN})
    told = {"respond": ["x"] * 2, "reflect": [SHORT] * 2, "evolve_query": [ask(BORN), ask(WHERE)]}
    told |= {"single_agent": [turn] * 2}
    most = {}
    for words in (40, 130, 3500):
        settings = {"agents": agents, "evidence_words": words, "graph": {"communities": "none"}}
        answer, _, llm = run(tmp_path, script(**told), Corpus(long), horizon=2, **settings)
        hay = [re.findall(r"hay\d", r.messages[-1].content) for r in llm.requests]
        most[words] = max(map(len, hay))
        assert answer.stats["left_out"] == answer.stats["unique_chunks"] - len(set(hay[-1]))
    assert most == {40: 38, 130: 120, 3500: 60 * answer.stats["unique_chunks"]}


def test_a_single_agent_makes_one_call_a_round(tmp_path: Path) -> None:
    turns = [
        {"answer": "Mia Orr", "sufficient": False, "question": BORN},
        {"answer": "Keld", "sufficient": True, "question": ""},
    ]
    told = script(single_agent=[json.dumps(turn) for turn in turns])
    answer, trace, llm = run(tmp_path, told, agents="single", refinement="none")
    assert (answer.text, answer.rounds) == ("Keld", 2)
    assert [r.purpose for r in llm.requests] == ["single_agent", "single_agent", "answer"]
    assert names(trace) == ["retrieve", *ROUND, *EVOLVE, *ROUND, "synthesise"]


def test_without_query_evolution_the_sub_graph_evolves_for_the_question(tmp_path: Path) -> None:
    told = script(respond=["Unknown", "Keld"], reflect=[ENOUGH])
    answer, trace, llm = run(tmp_path, told, evolving_query="none")
    assert steps(trace, "evolve_subgraph")[0]["query"] == QUESTION
    assert "evolve_query" not in {r.purpose for r in llm.requests}
    assert "extract_for_question" in {r.purpose for r in llm.requests}
    assert answer.rounds == 2


def test_the_configured_reranker_decides_what_is_kept(tmp_path: Path) -> None:
    class Last:
        def rerank(self, query: str, hits: Any, texts: Any, k: int) -> list[Hit]:
            assert all(texts[hit.id] for hit in hits)
            return list(hits)[::-1][:k]

    state = Trajectory.start("q", Subgraph())
    assert best(Last(), state, 2) == []
    _, trace, _ = run(tmp_path, script(respond=["Keld"], reflect=[ENOUGH]), rerank="none")
    found = [id for id, _ in steps(trace, "retrieve")[0]["nodes"]]
    assert steps(trace, "rerank")[0]["kept"] == found[:2]
    config = build(CrossEncoder.Config, {})
    parts = Parts(Scripted.of([]), Hashing(HashingConfig()), PromptLibrary(), reranker=config)
    assert isinstance(RERANKS["relevance"](parts), CrossEncoder)
    assert isinstance(RERANKS["none"](parts), NoReranker)


@pytest.mark.parametrize("settings", [{}, {"graph": {"communities": "none"}}])
def test_a_corpus_that_yields_no_triplet(tmp_path: Path, settings: dict[str, Any]) -> None:
    corpus = Corpus([Passage("bread", "Rye", "Bakers use flour."), Passage("empty", "", "")])
    told = script(respond=["Keld"], reflect=[ENOUGH])
    answer, trace, _ = run(tmp_path, told, corpus=corpus, **settings)
    assert answer.text == "Keld"
    assert [id for id, _ in steps(trace, "retrieve")[0]["nodes"]] == ["chunk:bread", "chunk:empty"]
    assert answer.facts == ()


def test_an_empty_corpus(tmp_path: Path) -> None:
    told = script(
        respond=["Unknown"], evolve_query=[ask(BORN), ask("")], answer=["<answer>Unknown"]
    )
    answer, _, llm = run(tmp_path, told, corpus=Corpus([]), horizon=1)
    assert (answer.text, answer.evidence) == ("Unknown", ())
    assert "nothing was found" in llm.requests[0].messages[-1].content


def test_without_communities_no_node_is_one(tmp_path: Path) -> None:
    told = {"respond": ["Keld"], "reflect": [ENOUGH]}
    found = {}
    for communities in ("leiden", "none"):
        settings = {"graph": {"communities": communities, "least_members": 2}, "top_k": 20}
        _, trace, _ = run(tmp_path / communities, script(**told), **settings)
        nodes = steps(trace, "retrieve")[0]["nodes"]
        found[communities] = {id.partition(":")[0] for id, _ in nodes}
    assert found == {"leiden": {"chunk", "triplet", "community"}, "none": {"chunk", "triplet"}}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"horizon": 0}, "horizon=0 must be at least 1"),
        ({"evidence_words": 0}, "evidence_words=0 must be at least 1"),
        ({"keep": 6}, "1 <= keep <= top_k, got keep=6 and top_k=5"),
        ({"keep": 0}, "1 <= keep"),
        ({"inferred": "yes"}, "hidden, shown"),
        ({"refinment": "none"}, "Did you mean 'refinement'"),
        ({"graph": {"communities": "louvian"}}, "Did you mean 'louvain'"),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build(ToG3Config, settings)


def test_a_saved_index_is_asked_without_its_corpus(tmp_path: Path) -> None:
    try:
        resolve_model(RulesConfig().model)
    except ModelNotFoundError:
        pytest.skip("run: rag-research models fetch en-core-web-sm")
    settings = ["system=tog3", "encoder=hashing", "llm=scripted"]
    settings += ["system.graph.extractor=rules", "system.graph.communities=none"]
    settings += [f"llm.replies=['Keld','{ENOUGH}','<answer>Keld']"]
    build_index(CORPUS, tmp_path / "saved", settings)
    answer, trace = open_index(tmp_path / "saved").ask(QUESTION)
    assert (answer.text, answer.rounds) == ("Keld", 1)
    assert {hit.id for hit in answer.evidence} >= {"film"}
    assert names(trace) == ["retrieve", *ROUND, "synthesise"]


def test_the_same_replies_give_the_same_bytes_in_whatever_order_the_corpus_is(
    tmp_path: Path,
) -> None:
    def line(where: Path, corpus: Corpus) -> str:
        told = script(
            respond=["Mia Orr", "Keld"],
            reflect=[SHORT, ENOUGH],
            evolve_query=[ask(BORN)],
            refine=[rows(["Mia Orr", "was born in", "Keld"], GUESS)],
        )
        answer, trace, _ = run(where, told, corpus)
        kept = [{k: v for k, v in row.items() if k != "seconds"} for row in trace.lines()]
        return json.dumps([kept, repr(answer)], default=str)

    assert line(tmp_path / "1", CORPUS) == line(tmp_path / "2", Corpus(reversed(list(CORPUS))))
