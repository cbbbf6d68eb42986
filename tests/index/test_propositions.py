from collections.abc import Sequence

from rag_research.index.propositions import (
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

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
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


def test_fewer_passages_than_asked_for_and_an_empty_base() -> None:
    retriever = Canned({"q": [Hit(BOB, 0.5)]})
    assert (
        len(search_globally(retriever, PROPOSITIONS, ["q"], 9, until_unique_sources).sources) == 1
    )
    nothing = search_globally(Canned({"q": []}), {}, ["q"], 5, until_unique_sources)
    assert nothing.propositions == nothing.sources == ()
