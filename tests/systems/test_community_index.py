"""ToG-3's index with a scripted model: reproducible, incremental, resumable, never fatal."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag_research.config.build import build
from rag_research.corpus.corpus import Corpus
from rag_research.embed.hashing import Hashing, HashingConfig
from rag_research.errors import ConfigError
from rag_research.evaluation.dry_run import CountingLLM
from rag_research.graph.heterogeneous import HeterogeneousGraph
from rag_research.graph.heterogeneous_files import load_graph
from rag_research.llm.base import Request
from rag_research.llm.scripted import Scripted
from rag_research.prompts.library import PromptLibrary
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.systems.base import Index, Parts
from rag_research.systems.community_index import CommunityGraphConfig, build_community_graph
from rag_research.types import Passage

pytest.importorskip("faiss")
pytest.importorskip("graspologic_native")


class Model(Scripted):
    """A scripted model with one identity whatever it answers, so that runs share a store."""

    @property
    def identity(self) -> dict[str, str]:
        return {"backend": "scripted", "model": "test"}


def fact(subject: str, relation: str, object_: str) -> dict[str, str]:
    told = {"subject_type": "town", "subject_description": f"a town, {len(subject)} letters"}
    return {"subject": subject, "relation": relation, "object": object_, **told}


def towns(request: Request) -> str:
    """Passage ``n`` says where roads from town n lead; summaries repeat what they read."""
    asked = request.messages[-1].content
    if request.purpose == "summarise":
        return "Roads. " + " ".join(asked.split())
    n = int(asked.split()[-1])
    return json.dumps(
        [
            fact(f"Town {n}", "leads to", f"Town {n // 2}"),
            fact(f"Town {n}", "sees", f"Hill {n % 7}"),
        ]
    )


def passages(numbers: Iterable[int]) -> list[Passage]:
    return [
        Passage(f"p{n}", "", f"Town {n} lies between Town {n // 2} and Hill {n % 7}, roads of {n}")
        for n in numbers
    ]


def run(
    store: Path | ArtifactStore,
    corpus: Sequence[Passage],
    script: Callable[[Request], str] = towns,
    **settings: Any,
) -> tuple[Index, list[Request]]:
    llm = Model.of(script)
    parts = Parts(llm, Hashing(HashingConfig()), PromptLibrary())
    config = build(CommunityGraphConfig, settings, "graph")
    where = store if isinstance(store, ArtifactStore) else ArtifactStore(store)
    return build_community_graph(config, Corpus(corpus), where, parts), llm.requests


def graph_of(index: Index) -> HeterogeneousGraph:
    graph: HeterogeneousGraph = index.data["graph"]
    return graph


def same(first: Index, second: Index) -> bool:
    a, b = graph_of(first), graph_of(second)
    return (
        a.nodes == b.nodes
        and a.members == b.members
        and a.entities == b.entities
        and a.relations == b.relations
        and bool(np.array_equal(a.vectors, b.vectors))
    )


def test_shuffled_passages_give_the_same_graph(tmp_path: Path) -> None:
    first, _ = run(tmp_path / "1", passages(range(1, 41)))
    corpus = passages(range(1, 41))
    random.Random(4).shuffle(corpus)
    second, _ = run(tmp_path / "2", corpus)
    assert same(first, second)
    assert first.counts["communities"] > 5
    one, two = (store / "heterogeneous-graph" for store in (tmp_path / "1", tmp_path / "2"))
    assert [p.name for p in one.iterdir() if p.is_dir()] == [
        p.name for p in two.iterdir() if p.is_dir()
    ]


def test_counts_and_costs(tmp_path: Path) -> None:
    index, requests = run(tmp_path, passages([1, 2, 3, 4]))
    counts = index.counts
    # Towns 0 to 4 and hills 1 to 4 are one component of nine entities and eight relations.
    assert (counts["chunks"], counts["entities"], counts["relations"]) == (4, 9, 8)
    assert counts["communities"] == len(graph_of(index).members) >= 2
    assert counts["failed"] == counts["failed_summaries"] == counts["unsplit"] == 0
    assert index.usage["extract"].calls == 4
    assert index.usage["summarise"].calls == counts["communities"] == len(requests) - 4


def test_summaries_read_types_descriptions_and_facts_inside(tmp_path: Path) -> None:
    _, requests = run(tmp_path, passages([1]))
    (asked,) = [r.messages[-1].content for r in requests if r.purpose == "summarise"]
    assert asked == (
        "Things:\n- Town 1 (town): a town, 6 letters\n- Hill 1\n- Town 0\n\n"
        "Facts:\n- Town 1 leads to Town 0\n- Town 1 sees Hill 1"
    )


def test_a_grown_corpus_equals_one_from_scratch_and_keeps_finished_work(tmp_path: Path) -> None:
    small, large = passages(range(1, 31)), passages(range(1, 33))
    first, _ = run(tmp_path / "grown", small)
    grown, requests = run(tmp_path / "grown", large)
    scratch, _ = run(tmp_path / "scratch", large)
    assert same(grown, scratch)
    extracted = [r.messages[-1].content for r in requests if r.purpose == "extract"]
    assert extracted == [passage.text for passage in large[-2:]]
    summarised = [r for r in requests if r.purpose == "summarise"]
    assert len(summarised) == grown.counts["communities"] - grown.counts["reused_summaries"]
    assert grown.counts["reused_summaries"] > 0
    assert {p: u.calls for p, u in grown.usage.items()} == {
        p: u.calls for p, u in scratch.usage.items()
    }
    # A new component leaves all others alone: only its own summary is asked for.
    told = "The Isle is apart, in a Lake"
    apart = [*small, Passage("x", "", told)]

    def script(request: Request) -> str:
        asked = request.messages[-1].content
        return json.dumps([fact("Isle", "lies in", "Lake")]) if asked == told else towns(request)

    more, requests = run(tmp_path / "grown", apart, script)
    assert [r.purpose for r in requests] == ["extract", "summarise"]
    assert set(graph_of(first).members) < set(graph_of(more).members)


def test_failed_chunks_and_summaries_are_counted_and_only_they_are_asked_again(
    tmp_path: Path,
) -> None:
    corpus = [*passages([1, 2, 3]), Passage("bad", "", "roads of nowhere")]

    def shaky(request: Request) -> str:
        asked = request.messages[-1].content
        if "nowhere" in str(request.messages[-1:]) or "could not use" in asked:
            return "no idea"
        return "..." if request.purpose == "summarise" else towns(request)

    first, _ = run(tmp_path, corpus, shaky)
    assert (first.counts["failed"], first.counts["failed_summaries"]) == (1, 3)
    assert (first.counts["communities"], graph_of(first).of_kind("community")) == (0, ())
    assert "chunk:bad" in graph_of(first)

    opened, requests = run(ArtifactStore(tmp_path, read_only=True), corpus, shaky)
    assert requests == []
    assert same(opened, first)
    assert opened.counts["failed"] == 1

    good = {"roads of nowhere": json.dumps([fact("Town 1", "leads to", "Nowhere")])}
    second, requests = run(tmp_path, corpus, lambda r: good.get(r.messages[-1].content) or towns(r))
    assert [r.messages[-1].content for r in requests if r.purpose == "extract"] == [
        "roads of nowhere"
    ]
    assert second.counts["failed"] == second.counts["failed_summaries"] == 0
    assert second.counts["communities"] > 0


@pytest.mark.parametrize("reply", ["[]", "no facts here", '[{"subject": "a"}]', ""])
def test_a_corpus_without_any_triplet_is_reported(tmp_path: Path, reply: str) -> None:
    index, requests = run(tmp_path, passages([1, 2]), lambda r: reply)
    graph = graph_of(index)
    assert [node.kind for node in graph.nodes] == ["chunk", "chunk"]
    assert index.counts["relations"] == index.counts["communities"] == 0
    assert index.counts["empty"] + index.counts["failed"] == 2
    assert all(r.purpose == "extract" for r in requests)
    hits = graph.search(Hashing(HashingConfig()).encode(["roads of 2"], "query"), 5)
    assert [hit.id for hit in hits[0]] == ["chunk:p2", "chunk:p1"]
    assert graph.neighbours("chunk:p1") == ()


def test_an_empty_corpus_gives_an_empty_graph(tmp_path: Path) -> None:
    index, requests = run(tmp_path, [])
    assert (len(graph_of(index)), requests, index.counts["chunks"]) == (0, [], 0)
    query = Hashing(HashingConfig()).encode(["anything"], "query")
    assert graph_of(index).search(query, 5) == [[]]


def test_a_flood_of_triplets_is_cut_and_counted(tmp_path: Path) -> None:
    flood = json.dumps([fact("Hub", "knows", f"Thing {n}") for n in range(10_000)])
    index, _ = run(
        tmp_path,
        passages([1]),
        lambda r: flood if r.purpose == "extract" else "A summary.",
        support="trusted",
    )
    assert (index.counts["relations"], index.counts["excess"]) == (2, 9_998)


def test_more_triplets_than_the_extractor_gives_are_refused() -> None:
    words = r"graph: triplets_per_chunk=5 .* at most 2 a chunk.*extractor\.limit=5"
    with pytest.raises(ConfigError, match=words):
        build(CommunityGraphConfig, {"triplets_per_chunk": 5}, "graph")
    both = {"triplets_per_chunk": 5, "extractor": {"name": "chunk_triplets", "limit": 5}}
    assert build(CommunityGraphConfig, both).triplets_per_chunk == 5
    fewer = {"extractor": {"name": "chunk_triplets", "limit": 1}}
    assert build(CommunityGraphConfig, fewer).extractor.limit == 1
    rules = {"triplets_per_chunk": 5, "extractor": "rules"}
    assert build(CommunityGraphConfig, rules).triplets_per_chunk == 5


def test_a_hub_with_ten_thousand_relations_is_one_community(tmp_path: Path) -> None:
    flood = json.dumps([fact("Hub", "knows", f"Thing {n}") for n in range(10_000)])
    index, requests = run(
        tmp_path,
        passages([1]),
        lambda r: flood if r.purpose == "extract" else "A summary.",
        extractor={"name": "chunk_triplets", "limit": 10_000},
        triplets_per_chunk=10_000,
        support="trusted",
        hub_limit=30,
    )
    graph = graph_of(index)
    assert (index.counts["entities"], index.counts["unsplit"]) == (10_001, 1)
    assert requests[-1].messages[-1].content.count("\n- ") == 30 + 30
    triplet = graph.of_kind("triplet")[0].id
    assert len(graph.neighbours(triplet)) == 30 + 1 + 1  # triplets, community, chunk
    assert graph.passages(graph.of_kind("community")[0].id) == ("p1",)


def test_what_the_chunk_does_not_name_is_counted_and_left_out(tmp_path: Path) -> None:
    copied = [fact("Town 1", "leads to", "Nowhere"), fact("Town 1", "leads to", "town 0")]
    script = {"extract": json.dumps(copied), "summarise": "A summary."}
    named, _ = run(tmp_path, passages([1]), lambda r: script[r.purpose])
    assert [r.triplet.object for r in graph_of(named).relations.values()] == ["town 0"]
    assert (named.counts["relations"], named.counts["unsupported"]) == (1, 1)
    trusted, asked = run(tmp_path, passages([1]), lambda r: script[r.purpose], support="trusted")
    assert (trusted.counts["relations"], trusted.counts["unsupported"]) == (2, 0)
    assert {request.purpose for request in asked} == {"summarise"}  # chunks are not read again


def test_long_passages_become_overlapping_chunks(tmp_path: Path) -> None:
    text = " ".join(f"w{n}" for n in range(25))
    index, requests = run(
        tmp_path, [Passage("long", "T", text)], lambda r: "[]", chunk_size=10, chunk_overlap=2
    )
    asked = [r.messages[-1].content.split() for r in requests]
    assert sorted(map(tuple, asked)) == sorted(
        ("T", *(f"w{n}" for n in range(start, min(start + 10, 25)))) for start in (0, 8, 16)
    )
    graph = graph_of(index)
    assert {graph.passages(node.id) for node in graph.nodes} == {("long",)}
    assert len(graph) == 3


def test_communities_can_be_off_or_louvain(tmp_path: Path) -> None:
    none, requests = run(tmp_path, passages(range(1, 15)), communities="none")
    assert {r.purpose for r in requests} == {"extract"}
    assert {node.kind for node in graph_of(none).nodes} == {"chunk", "triplet"}
    louvain, requests = run(tmp_path, passages(range(1, 15)), communities="louvain")
    assert {r.purpose for r in requests} == {"summarise"}
    assert louvain.counts["communities"] > 0


def test_searchers_agree_with_the_vectors(tmp_path: Path) -> None:
    index, _ = run(tmp_path, passages(range(1, 20)))
    graph = graph_of(index)
    plain = HeterogeneousGraph(
        graph.nodes, graph.vectors, graph.entities, graph.relations, graph.members
    )
    query = Hashing(HashingConfig()).encode(["Town 4 leads to the hill"], "query")
    theirs, ours = graph.search(query, 12)[0], plain.search(query, 12)[0]
    assert [h.id for h in theirs] == [h.id for h in ours]
    assert [h.score for h in theirs] == pytest.approx([h.score for h in ours], abs=2e-6)


def test_the_stored_graph_is_the_one_in_use(tmp_path: Path) -> None:
    index, _ = run(tmp_path, passages(range(1, 9)))
    (folder,) = (p for p in (tmp_path / "heterogeneous-graph").iterdir() if p.is_dir())
    stored, used = load_graph(folder), graph_of(index)
    assert stored.nodes == used.nodes
    assert np.array_equal(stored.vectors, used.vectors)
    assert (stored.members, stored.passage_of) == (used.members, used.passage_of)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["counts"]["communities"] == index.counts["communities"]


def test_rules_extract_without_a_model(tmp_path: Path) -> None:
    pytest.importorskip("spacy")
    from rag_research.errors import ModelNotFoundError
    from rag_research.extract.rules import RulesConfig, find_parser

    try:
        find_parser(RulesConfig().model)
    except ModelNotFoundError:
        pytest.skip("the spaCy model is not fetched")
    text = (
        "Ilka Sundmark founded the Vellamy Observatory in Tavrinia in 1931. "
        "She married Pell Adray. She died in Corben in 1970."
    )
    index, requests = run(tmp_path, [Passage("p", "Ilka Sundmark", text)], towns, extractor="rules")
    assert {r.purpose for r in requests} == {"summarise"}
    assert index.counts["relations"] == 2
    assert index.counts["surplus"] > 0


def test_the_dry_run_counts_one_summary_a_chunk_at_most(tmp_path: Path) -> None:
    llm = CountingLLM()
    parts = Parts(llm, Hashing(HashingConfig()), PromptLibrary())
    corpus = Corpus(passages(range(6)))

    config = CommunityGraphConfig(support="trusted")
    build_community_graph(config, corpus, ArtifactStore(tmp_path), parts)
    assert {purpose: usage.calls for purpose, usage in llm.usage.items()} == {
        "extract": 6,
        "summarise": 6,
    }


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"chunk_overlap": 1024}, "chunk_overlap"),
        ({"hub_limit": 0}, "hub_limit"),
        ({"community_size": 1}, "community_size"),
        ({"communities": "leyden"}, "Did you mean 'leiden'"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        build(CommunityGraphConfig, settings, "graph")
