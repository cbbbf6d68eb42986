from collections.abc import Sequence
from random import Random

import pytest

from rag_research.index.base import ranked
from rag_research.index.propositions import (
    Budget,
    Proposition,
    collect_propositions,
    last_source_only,
    search_globally,
    search_per_query,
    top_propositions,
    until_unique_sources,
)
from rag_research.types import Hit, Triplet

TRIPLETS = {
    "p1": (Triplet("Ann", "wrote", "Tides"), Triplet("Ann", "lives in", "Oby")),
    "p2": (Triplet("Ann", "wrote", "Tides"), Triplet("Oby", "lies on", "the Esk")),
    "p3": (Triplet("Bob", "wrote", "Dunes"),),
    "p4": (),
}
PROPOSITIONS = collect_propositions(TRIPLETS)
IDS = {p.text: p.id for p in PROPOSITIONS.values()}
WROTE, LIVES, LIES, BOB = (
    IDS[t]
    for t in ("Ann wrote Tides", "Ann lives in Oby", "Oby lies on the Esk", "Bob wrote Dunes")
)


class Canned:
    """A retriever with given rankings."""

    def __init__(self, rankings: dict[str, list[Hit]]) -> None:
        self.rankings = rankings
        self.depths: list[int] = []

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        self.depths.append(k)
        return [self.rankings[q][:k] for q in queries]


def test_a_proposition_keeps_all_its_sources() -> None:
    assert len(PROPOSITIONS) == 4
    assert PROPOSITIONS[WROTE].sources == ("p1", "p2")
    assert last_source_only(PROPOSITIONS)[WROTE].sources == ("p2",)


def test_ids_depend_on_the_text_alone() -> None:
    shuffled = collect_propositions({"x": TRIPLETS["p3"], "y": TRIPLETS["p1"][::-1]})
    assert {p.text: p.id for p in shuffled.values()}.items() <= IDS.items()


def test_walk_until_unique_sources_keeps_propositions_of_counted_passages() -> None:
    pool = [Hit(LIVES, 0.9), Hit(WROTE, 0.8), Hit(LIES, 0.7), Hit(BOB, 0.6)]
    one = until_unique_sources(pool, PROPOSITIONS, 1)
    assert [h.id for h in one.propositions] == [LIVES]
    two = until_unique_sources(pool, PROPOSITIONS, 2)
    assert [h.id for h in two.propositions] == [LIVES, WROTE]
    three = until_unique_sources(pool, PROPOSITIONS, 3)
    assert [h.id for h in three.propositions] == [LIVES, WROTE, LIES, BOB]
    assert three.sources == (Hit("p1", 0.9), Hit("p2", 0.8), Hit("p3", 0.6))


def test_more_sources_than_the_budget_are_cut() -> None:
    assert until_unique_sources([Hit(WROTE, 1.0)], PROPOSITIONS, 1).sources == (Hit("p1", 1.0),)


def test_fixed_number_of_propositions() -> None:
    pool = [Hit(WROTE, 0.8), Hit(LIES, 0.7), Hit(BOB, 0.6)]
    chosen = top_propositions(pool, PROPOSITIONS, 2)
    assert len(chosen.propositions) == 2
    assert [h.id for h in chosen.sources] == ["p1", "p2"]


def test_global_pool_shares_one_budget_and_per_query_does_not() -> None:
    retriever = Canned(
        {"a": [Hit(LIVES, 0.9), Hit(BOB, 0.2)], "b": [Hit(BOB, 0.5), Hit(LIVES, 0.1)]}
    )
    together = search_globally(retriever, PROPOSITIONS, ["a", "b"], 1, until_unique_sources)
    assert together.sources == (Hit("p1", 0.9),)
    apart = search_per_query(retriever, PROPOSITIONS, ["a", "b"], 1, until_unique_sources)
    assert apart.sources == (Hit("p1", 0.9), Hit("p3", 0.5))


def test_the_pool_is_deepened_until_enough_passages_are_found() -> None:
    crowd = {f"c{n:03}": (Triplet("crowd", "says", str(n)),) for n in range(3)}
    many = {"big": tuple(Triplet("big", "says", str(n)) for n in range(500)), **crowd}
    propositions = collect_propositions(many)
    hits = [Hit(id, 1.0 - n / 1000) for n, id in enumerate(propositions)]
    found = search_globally(Canned({"q": hits}), propositions, ["q"], 3, until_unique_sources)
    assert [h.id for h in found.sources] == ["big", "c000", "c001"]
    assert len(found.propositions) == 502


def full_pool(
    retriever: Canned, propositions: dict[str, Proposition], queries: list[str]
) -> list[Hit]:
    best: dict[str, float] = {}
    for hits in retriever.search(queries, len(propositions)):
        for hit in hits:
            best[hit.id] = max(hit.score, best.get(hit.id, hit.score))
    return sorted((Hit(id, score) for id, score in best.items()), key=lambda h: (-h.score, h.id))


@pytest.mark.parametrize("budget", [until_unique_sources, top_propositions])
@pytest.mark.parametrize("levels", [3, 1000])
def test_one_pool_is_that_of_all_hits(levels: int, budget: Budget) -> None:
    draw = Random(levels)
    for _ in range(60):
        sources = draw.choice([3, 12, 400])
        made = (
            Proposition(f"i{n:03}", "", Triplet("a", "b", "c"), (f"p{draw.randrange(sources)}",))
            for n in range(400)
        )
        propositions = {p.id: p for p in made}
        rankings = {}
        for query in "abc":
            top = draw.choice([0.3, 1.0])
            scores = {id: top * draw.randrange(levels) / levels for id in propositions}
            rankings[query] = ranked(scores, len(scores))
        retriever, k = Canned(rankings), draw.choice([1, 5, 90])
        found = search_globally(retriever, propositions, list("abc"), k, budget)
        wanted = budget(full_pool(retriever, propositions, list("abc")), propositions, k)
        assert found == wanted


def test_weak_hits_of_one_query_do_not_hide_better_ones_of_another() -> None:
    one = {"x": tuple(Triplet("x", "says", str(n)) for n in range(64))}
    rest = {f"{s}{n}": (Triplet(f"{s}{n}", "is", "it"),) for s in "gb" for n in range(9)}
    propositions = collect_propositions(one | rest)
    scores = {id: {"x": 0.9, "g": 0.8, "b": 0.0}[p.text[0]] for id, p in propositions.items()}
    weak = {id: 0.3 for id, p in propositions.items() if p.text[0] == "b"}
    retriever = Canned({"a": ranked(scores, len(scores)), "b": ranked(weak, len(weak))})
    found = search_globally(retriever, propositions, ["a", "b"], 4, until_unique_sources)
    assert [hit.id[0] for hit in found.sources] == ["x", "g", "g", "g"]


def test_one_query_is_not_searched_deeper_than_its_budget_needs() -> None:
    many = {f"p{n}": (Triplet(f"p{n}", "is", "it"),) for n in range(300)}
    propositions = collect_propositions(many)
    retriever = Canned({"q": ranked(dict.fromkeys(propositions, 0.5), 300)})
    search_globally(retriever, propositions, ["q"], 64, until_unique_sources)
    assert retriever.depths == [64]


def test_fewer_passages_than_asked_for_and_an_empty_base() -> None:
    retriever = Canned({"q": [Hit(BOB, 0.5)]})
    assert (
        len(search_globally(retriever, PROPOSITIONS, ["q"], 9, until_unique_sources).sources) == 1
    )
    nothing = search_globally(Canned({"q": []}), {}, ["q"], 5, until_unique_sources)
    assert nothing.propositions == nothing.sources == ()
