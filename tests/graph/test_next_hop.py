"""What a passage leaves open of a question, and the queries made of it."""

import numpy as np
import pytest

from rag_research.graph.next_hop import Hops, hop_queries, hop_scores, open_questions
from rag_research.graph.path_evidence import gather_evidence

from .conftest import MakeWorld, World

PASSAGES = [
    ("film", "Silent Harbour", "Silent Harbour was directed by Mira Okafor near Tolmin."),
    ("woman", "Mira Okafor", "She was raised by fishermen."),
    ("town", "Tolmin", "A small town without a harbour."),
    ("prize", "Golden Wheel", "Awarded once to Silent Harbour and never again."),
    ("noise", "Cabbage", "A vegetable with leaves."),
]
QUESTION = "where was the director of Silent Harbour raised"


@pytest.fixture
def world(make_world: MakeWorld) -> World:
    return make_world(PASSAGES)


def rows_of(world: World, *ids: str) -> np.ndarray:
    return np.array([world.graph.rows[id] for id in ids], np.int64)


def test_what_is_open_are_the_words_a_passage_lacks(world: World) -> None:
    asked = world.ask(QUESTION)
    rest = open_questions(world.graph, asked, rows_of(world, "film", "noise")).vectors
    lacks = [word not in {"was", "silent", "harbour"} for word in QUESTION.lower().split()]
    left = (asked.token_weights * lacks) @ asked.tokens.states
    np.testing.assert_allclose(rest[0], left / np.linalg.norm(left), atol=1e-6)
    whole = asked.token_weights @ asked.tokens.states
    np.testing.assert_allclose(rest[1], whole / np.linalg.norm(whole), atol=1e-6)


def test_a_passage_with_every_word_leaves_the_question_as_it_is(world: World) -> None:
    asked = world.ask("Silent Harbour?")
    rest = open_questions(world.graph, asked, rows_of(world, "film")).vectors
    np.testing.assert_array_equal(rest[0], asked.tokens.vector)
    empty = open_questions(world.graph, world.ask(""), rows_of(world, "film"))
    assert empty.vectors.shape == rest.shape


def test_a_query_is_the_mean_of_what_is_open_and_a_name(world: World) -> None:
    graph, asked = world.graph, world.ask(QUESTION)
    rest = open_questions(graph, asked, rows_of(world, "film", "town"))
    (woman,) = graph.entities_of(["mira okafor"])
    queries = hop_queries(graph, rest, np.array([0, 1]), np.array([woman, woman]))
    vectors = np.asarray(graph.tables.vectors)
    means = rest.vectors + world.encoder.encode(["mira okafor"], "passage")
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    np.testing.assert_allclose(queries.cosines(vectors), means @ vectors.T, atol=1e-6)
    rows = rows_of(world, "woman", "prize", "woman")
    expected = [means[q] @ vectors[row] for q, row in zip([1, 0, 0], rows, strict=True)]
    paired = queries.paired(vectors, np.array([1, 0, 0]), rows)
    np.testing.assert_allclose(paired, expected, atol=1e-6)


def hops(world: World, question: str) -> tuple[list[str], Hops]:
    asked, found = world.ask(question), world.find(question)
    evidence = gather_evidence(world.graph, asked, found.rows)
    vectors = np.asarray(world.graph.tables.vectors[found.rows])
    names = evidence.mention_owner, evidence.mention_entity
    return [world.graph.ids[row] for row in found.rows.tolist()], hop_scores(
        world.graph, asked, evidence.words, *names, vectors
    )


def test_scores_are_the_best_cosines_with_the_queries_of_each_passage(world: World) -> None:
    graph, asked = world.graph, world.ask(QUESTION)
    ids, found = hops(world, QUESTION)
    assert sorted(ids) == sorted(id for id, _, _ in PASSAGES)
    # Names that two passages have, and that the question does not say.
    leads = {
        "film": ["mira okafor", "tolmin"],
        "woman": ["mira okafor"],
        "town": ["tolmin"],
        "prize": [],
        "noise": [],
    }
    for source, names in leads.items():
        rest = open_questions(graph, asked, rows_of(world, source))
        queries = hop_queries(graph, rest, np.zeros(len(names), int), graph.entities_of(names))
        for target in ids:
            expected = 0.0
            if names and target != source:
                expected = queries.cosines(graph.tables.vectors)[:, graph.rows[target]].max()
            value = found.score[ids.index(source), ids.index(target)]
            assert value == pytest.approx(expected, abs=1e-6)


def test_ranks_start_at_the_best_and_count_only_what_is_led_to(world: World) -> None:
    ids, found = hops(world, QUESTION)
    film = ids.index("film")
    assert found.rank[film].argmin() == ids.index("woman")
    assert found.rank[film].min() == 0 and found.rank[film, film] == len(ids)
    assert (found.rank[ids.index("noise")] == len(ids)).all()
    assert ((found.rank < len(ids)) == (found.score > 0)).all()


def test_names_of_the_question_lead_nowhere(world: World) -> None:
    ids, found = hops(world, "Was Mira Okafor of Tolmin the director of Silent Harbour?")
    assert not found.score.any() and (found.rank == len(ids)).all()


def test_nothing_to_lead_from(make_world: MakeWorld) -> None:
    ids, found = hops(make_world([]), QUESTION)
    assert ids == [] and found.score.shape == found.rank.shape == (0, 0)
