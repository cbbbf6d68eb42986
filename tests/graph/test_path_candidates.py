"""Each source of candidates on a case made for it, the limits, and corpora that try them."""

import numpy as np
import pytest

from rag_research.graph.path_candidates import DEPTH, ORIGINS, CandidateConfig
from rag_research.graph.title_words import TITLE_HUB

from .conftest import MakeWorld, World

OFF = {
    "found": 1,
    "front": 1,
    "titled": 0,
    "namers": 0,
    "shared": 0,
    "shared_in_all": 0,
    "title_words": 0,
}
SEARCH, TITLE, LINK, SHARED, TITLE_WORDS = range(len(ORIGINS))

CHAIN = [
    ("film", "Silent Harbour", "Silent Harbour was directed by Mira Okafor in a studio."),
    ("woman", "Mira Okafor", "She grew up among fishermen."),
    ("prize", "Golden Wheel", "Awarded once to Silent Harbour and never again."),
    ("other", "Broken Lantern", "Its camera was held by Mira Okafor too."),
    ("noise", "Cabbage", "A vegetable with leaves."),
]
QUESTION = "Where was the director of silent harbour studio raised"


@pytest.fixture
def chain(make_world: MakeWorld) -> World:
    return make_world(CHAIN)


def test_the_search_alone(chain: World) -> None:
    found = chain.find(QUESTION, **OFF)
    assert chain.ids(found) == {"film"}
    assert found.origin.tolist() == [SEARCH]
    assert found.dense.shape == (5,)
    assert set(found.lists) == {"dense", "lexical", "fused"}
    np.testing.assert_allclose(
        found.dense, chain.graph.tables.vectors @ chain.ask(QUESTION).tokens.vector, rtol=1e-6
    )


@pytest.mark.parametrize(
    ("limits", "added", "origin"),
    [
        ({"titled": 1}, {"woman"}, LINK),  # the film's text names her title
        ({"namers": 5}, {"prize"}, LINK),  # it names the film's title
        ({"shared": 9, "shared_in_all": 9}, {"woman", "prize", "other"}, SHARED),
    ],
)
def test_what_the_corpus_graph_adds(
    chain: World, limits: dict[str, int], added: set[str], origin: int
) -> None:
    found = chain.find(QUESTION, **(OFF | limits))
    assert chain.ids(found, origin) == added
    assert chain.ids(found) == {"film"} | added


def test_a_title_in_the_question(chain: World) -> None:
    found = chain.find("Cabbage or silent harbour directed studio by", **(OFF | {"titled": 1}))
    assert chain.ids(found, SEARCH) == {"film"}
    assert chain.ids(found, TITLE) == {"noise"}


def test_names_of_the_question_lead_nowhere_new(chain: World) -> None:
    # The question says the shared name itself, so sharing it with the film is no path.
    question = "Mira Okafor directed silent harbour in a studio"
    limits = OFF | {"shared": 9, "shared_in_all": 9}
    assert chain.ids(chain.find(question, **limits), SHARED) == {"prize"}


def test_of_those_that_share_a_name_the_ones_that_answer_what_is_open(
    make_world: MakeWorld,
) -> None:
    world = make_world(
        [
            ("film", "Silent Harbour", "Silent Harbour was directed by Mira Okafor in a studio."),
            ("studio", "", "Mira Okafor had a studio in the harbour and directed there."),
            ("life", "", "Mira Okafor was raised near a lake."),
        ]
    )
    found = world.find(QUESTION, **(OFF | {"shared": 1, "shared_in_all": 9, "found": 1}))
    # The whole question is nearer to the studio; what the film leaves open is where she was raised.
    rows = world.graph.rows
    assert found.dense[rows["studio"]] > found.dense[rows["life"]]
    assert world.ids(found, SHARED) == {"life"}


def test_a_name_in_another_form_leads_to_its_title(make_world: MakeWorld) -> None:
    world = make_world(
        [
            ("film", "Silent Harbour", "Made in a studio by Mira J. Ökafor, Jr. for the port."),
            ("woman", "Mira Okafor", "She grew up among fishermen."),
            ("uncle", "Bela Okafor", "He mended nets."),
            ("port", "Port of Tolmin", "A lake."),
            ("noise", "Cabbage", "A vegetable with leaves."),
        ]
    )
    limits = OFF | {"title_words": 9}
    found = world.find(QUESTION, **limits)
    # Of the uncle's title the film has the more common half, of the port's less than half.
    assert world.ids(found, TITLE_WORDS) == {"woman"}
    assert world.ids(found) == {"film", "woman"}
    # What the question names itself is no news.
    assert world.ids(world.find(f"{QUESTION} Mira Okafor", **limits), TITLE_WORDS) == set()


def test_words_of_many_titles_lead_nowhere(make_world: MakeWorld) -> None:
    film = ("film", "Silent Harbour", "Made in a studio by Okafor.")
    for namesakes in (TITLE_HUB, TITLE_HUB + 1):
        world = make_world(
            [film, *((f"w{n}", "Okafor", "A person.") for n in range(namesakes))], f"s{namesakes}"
        )
        found = world.find(QUESTION, **(OFF | {"title_words": 4}))
        assert len(world.ids(found, TITLE_WORDS)) == (4 if namesakes == TITLE_HUB else 0)


def test_a_second_round_starts_at_what_the_first_added(make_world: MakeWorld) -> None:
    world = make_world(
        [
            ("1", "Silent Harbour", "Made in a studio by Mira Okafor."),
            ("2", "Mira Okafor", "Raised near Tolmin."),
            ("3", "Tolmin", "Small town."),
        ]
    )
    limits = OFF | {"titled": 1}
    assert world.ids(world.find(QUESTION, **limits)) == {"1", "2"}
    assert world.ids(world.find(QUESTION, **limits, rounds=2)) == {"1", "2", "3"}
    assert world.ids(world.find(QUESTION, **limits, rounds=0)) == {"1"}


def test_limits_of_each_source(make_world: MakeWorld) -> None:
    same = [(f"same{i}", "Mira Okafor", f"Number {i} in this list.") for i in range(9)]
    namers = [(f"namer{i}", f"Film {i}", "Like Silent Harbour.") for i in range(9)]
    world = make_world([*CHAIN[:1], *same, *namers])
    question = "Who directed silent harbour studio"
    assert len(world.find(question, **OFF).rows) == 1
    assert len(world.find(question, **(OFF | {"titled": 3})).rows) == 1 + 3
    assert len(world.find(question, **(OFF | {"namers": 4})).rows) == 1 + 4 - 1  # itself
    found = world.find(question, **(OFF | {"shared": 5, "shared_in_all": 99}))
    # Two names, five passages each, the film among those of both or not.
    assert 1 + 4 + 4 <= len(found.rows) <= 1 + 5 + 5
    assert len(world.find(question, **(OFF | {"shared": 5, "shared_in_all": 3})).rows) <= 1 + 3
    assert len(world.find(question, **(OFF | {"found": 7})).rows) == 7


def test_hubs_are_not_followed(make_world: MakeWorld) -> None:
    namers = [(f"n{i}", "", f"Like Silent Harbour, thing {i}.") for i in range(7)]
    world = make_world([*CHAIN[:1], *namers])  # eight passages name the film
    limits = OFF | {"shared": 99, "shared_in_all": 99}
    assert len(world.find(QUESTION, **limits, hub=8).rows) == 8
    assert len(world.find(QUESTION, **limits, hub=7).rows) == 1
    assert len(world.find(QUESTION, **(OFF | {"namers": 3})).rows) == 3  # 8 <= 3 * 3
    assert len(world.find(QUESTION, **(OFF | {"namers": 2})).rows) == 1  # 8 > 3 * 2


def test_candidates_are_distinct_and_those_of_the_search_come_first(chain: World) -> None:
    found = chain.find("Mira Okafor and Silent Harbour", found=2)
    assert len(set(found.rows.tolist())) == len(found.rows) == len(found.origin)
    assert found.origin[:2].tolist() == [SEARCH] * 2
    assert found.rows[:2].tolist() == list(found.lists["fused"])[:2]


@pytest.mark.slow
@pytest.mark.parametrize("titled", [False, True])
def test_ten_thousand_passages_that_name_one_hub(make_world: MakeWorld, titled: bool) -> None:
    passages = [
        (f"p{i}", "Rome" if titled else f"Place {i}", f"Place {i} lies near Rome.")
        for i in range(10_000)
    ]
    world = make_world([*passages, ("hub", "Rome", "Rome is a city.")], width=128)
    config = CandidateConfig()
    path = world.path("Which Place lies near Rome?")
    most = config.found + 2 * config.front * (
        config.titled * 4 + config.namers + config.shared_in_all + config.title_words
    )
    assert config.found <= len(path.rows) <= most
    # No name joins more than 40 candidates; 8 heads are joined with all, 3 neighbours with each.
    assert len(path.edges.source) <= len(path.rows) * 2 * (8 + 3 + 40)
    assert world.graph.rows["hub"] in path.rows or titled
    assert np.isfinite(path.nodes).all() and np.isfinite(path.edges.features).all()


def test_without_titles_and_without_names_in_the_question(make_world: MakeWorld) -> None:
    world = make_world([(id, "", text) for id, _, text in CHAIN])
    found = world.find("where did fishermen live", found=2)
    assert "woman" in world.ids(found, SEARCH)
    assert world.ask("where did fishermen live").entities.tolist() == []
    # A shared name still leads on: both texts name Mira Okafor.
    found = world.find(QUESTION, **(OFF | {"shared": 9, "shared_in_all": 9}))
    assert world.ids(found) == {"film", "other", "prize"}


def test_duplicate_titles_are_all_reached(make_world: MakeWorld) -> None:
    twins = [(f"t{i}", "Mira Okafor", f"Life {i}.") for i in range(3)]
    world = make_world([CHAIN[0], *twins])
    assert world.ids(world.find(QUESTION, **(OFF | {"titled": 4}))) == {"film", "t0", "t1", "t2"}


@pytest.mark.parametrize("question", ["", "   ", "?!", "zzz qqq", "Rome?"])
def test_one_passage_is_always_its_own_candidate(make_world: MakeWorld, question: str) -> None:
    world = make_world([("only", "Rome", "A city.")])
    found = world.find(question, rounds=3)
    assert found.rows.tolist() == [0] and found.origin.tolist() == [SEARCH]


def test_no_corpus_no_candidates(make_world: MakeWorld) -> None:
    found = make_world([]).find("Who knows Rome?")
    assert found.rows.shape == found.origin.shape == found.dense.shape == (0,)


def test_an_empty_question_is_defined(chain: World) -> None:
    asked = chain.ask("")
    assert asked.words == () and asked.entities.tolist() == [] and asked.weights.tolist() == []
    assert len(chain.find("").rows) == 5


def test_a_question_is_looked_up(chain: World) -> None:
    asked = chain.ask("Who raised Mira Okafor and the cabbage, Mira Okafor?")
    assert asked.words == ("who", "raised", "mira", "okafor", "and", "the", "cabbage")
    assert [n >= 0 for n in asked.numbers] == [False, False, True, True, True, False, True]
    assert asked.weights.sum() == pytest.approx(1.0)
    assert len(asked.entities) == 1


def test_lists_hold_the_best_of_a_large_corpus_in_order(make_world: MakeWorld) -> None:
    world = make_world([(f"p{i:03}", "", f"word{i % 7} text {i}") for i in range(DEPTH + 40)])
    found = world.find("word3 text 17")
    dense = found.lists["dense"]
    expected = sorted(range(len(found.dense)), key=lambda row: (-found.dense[row], row))[:DEPTH]
    assert list(dense) == expected
    assert list(found.lists["fused"].values()) == sorted(
        found.lists["fused"].values(), reverse=True
    )


@pytest.mark.parametrize(
    "wrong", [{"found": 0}, {"front": 0}, {"hub": 1}, {"titled": -1}, {"rounds": -1}]
)
def test_limits_that_make_no_sense_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"needs|must not"):
        CandidateConfig(**wrong)
