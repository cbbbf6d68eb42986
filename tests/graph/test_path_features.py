"""Features of candidates: by hand, finite whatever the corpus, and free of ids and order."""

import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag_research.embed.hashing import Hashing, HashingConfig
from rag_research.graph.anchors import positive
from rag_research.graph.next_hop import hop_scores
from rag_research.graph.path_edges import EDGE_FEATURES, edge_features
from rag_research.graph.path_evidence import Evidence, gather_evidence
from rag_research.graph.path_features import (
    ENTITY_BOOST,
    NODE_FEATURES,
    SENTENCE_FEATURES,
    VERSION,
    PathGraph,
)
from rag_research.graph.topology import TopologyConfig
from rag_research.graph.weights import published

from .conftest import MakeWorld, World

NODES = [name for group in NODE_FEATURES.values() for name in group]
EDGES = [name for group in EDGE_FEATURES.values() for name in group]

CHAIN = [
    ("film", "Silent Harbour", "A studio work. Silent Harbour was directed by Mira Okafor."),
    ("woman", "Mira Okafor", "She grew up among fishermen. Mira Okafor later left."),
    ("prize", "Golden Wheel", "Awarded once to Silent Harbour and never again."),
    ("twin", "Golden Wheel (boat)", "Seen at sea."),
    ("noise", "", "vegetables with leaves"),
]
QUESTION = "Where did the director of Silent Harbour grow up?"


@pytest.fixture
def chain(make_world: MakeWorld) -> World:
    return make_world(CHAIN)


def _node(world: World, path: PathGraph, name: str) -> dict[str, float]:
    column = path.nodes[:, NODES.index(name)].tolist()
    return {world.graph.ids[row]: x for row, x in zip(path.rows.tolist(), column, strict=True)}


def _edge(world: World, path: PathGraph, name: str) -> dict[tuple[str, str], float]:
    ids = [world.graph.ids[row] for row in path.rows.tolist()]
    ends = zip(path.edges.source.tolist(), path.edges.target.tolist(), strict=True)
    values = path.edges.features[:, EDGES.index(name)].tolist()
    return {(ids[a], ids[b]): x for (a, b), x in zip(ends, values, strict=True)}


def _evidence(world: World, question: str) -> tuple[list[str], Evidence]:
    rows = world.find(question).rows
    names = [world.graph.ids[row] for row in rows.tolist()]
    return names, gather_evidence(world.graph, world.ask(question), rows)


def test_shapes_and_names(chain: World) -> None:
    path = chain.path(QUESTION)
    assert VERSION == 5
    assert path.nodes.shape == (5, len(NODES)) and len(set(NODES)) == len(NODES)
    assert path.edges.features.shape == (len(path.edges.source), len(EDGES))
    assert path.sentences.shape == (7, len(SENTENCE_FEATURES))
    for array in (path.nodes, path.edges.features, path.sentences, path.prior, path.edges.weight):
        assert array.dtype == np.float32


def test_node_features_by_hand(chain: World) -> None:
    path, asked = chain.path(QUESTION), chain.ask(QUESTION)
    encode = Hashing(HashingConfig()).encode
    question = encode([QUESTION], "query")[0]
    texts = {p.id: p.contents for p in chain.corpus}
    cosine = {id: float(encode([text], "passage")[0] @ question) for id, text in texts.items()}
    assert _node(chain, path, "cosine") == pytest.approx(cosine, abs=1e-6)
    best = max(cosine.values())
    behind = {id: value - best for id, value in cosine.items()}
    assert _node(chain, path, "cosine_behind_best") == pytest.approx(behind, abs=1e-6)

    weight = dict(zip(asked.words, asked.weights.tolist(), strict=True))
    assert sum(weight.values()) == pytest.approx(1.0)
    covered = _node(chain, path, "words_covered")
    assert covered["film"] == pytest.approx(weight["silent"] + weight["harbour"])
    assert covered["woman"] == pytest.approx(weight["up"])
    assert covered["noise"] == 0.0
    assert _node(chain, path, "title_words_covered")["film"] == pytest.approx(covered["film"])
    assert _node(chain, path, "title_share_asked") == pytest.approx(
        {"film": 1.0, "woman": 0.0, "prize": 0.0, "twin": 0.0, "noise": 0.0}
    )
    assert _node(chain, path, "titled_in_question")["film"] == 1.0
    assert sum(_node(chain, path, "titled_in_question").values()) == 1.0
    # Of five passages two name the film.
    idf = math.log(5 / 2)
    expected = {"film": idf, "woman": 0.0, "prize": idf, "twin": 0.0, "noise": 0.0}
    assert _node(chain, path, "names_of_question") == pytest.approx(expected)
    hub = {"film": 2, "woman": 2, "prize": 2, "twin": 2, "noise": 0}
    assert _node(chain, path, "title_hub") == pytest.approx(
        {id: math.log1p(n) for id, n in hub.items()}
    )
    assert _node(chain, path, "title_repeats") == pytest.approx(
        {"film": 0, "woman": 0, "prize": math.log(2), "twin": math.log(2), "noise": 0}
    )
    assert set(_node(chain, path, "question_titles").values()) == {1.0}
    assert _node(chain, path, "question_length")["film"] == pytest.approx(0.9)
    assert _node(chain, path, "length")["noise"] == pytest.approx(math.log1p(3))
    assert _node(chain, path, "fused_rank")[chain.graph.ids[path.rows[0]]] == 0.0
    origins = path.nodes[:, [NODES.index(n) for n in NODES if n.startswith("from_")]]
    assert origins.sum(axis=1).tolist() == [1.0] * 5


def test_token_matches_are_cosines_of_the_nearest_tokens(make_world: MakeWorld) -> None:
    world = make_world([("x", "", "silent harbour"), ("y", "", "loud desert storm"), ("z", "", "")])
    names, evidence = _evidence(world, "silent storm")
    assert evidence.matches.shape == (3, 2)
    matches = dict(zip(names, evidence.matches.tolist(), strict=True))
    assert matches["x"][0] == pytest.approx(1.0, abs=0.01)  # int8
    assert matches["y"][1] == pytest.approx(1.0, abs=0.01)
    assert matches["x"][1] < 0.8 and matches["y"][0] < 0.8
    assert matches["z"] == [-1.0, -1.0]  # no token
    # Above the median of the candidates.
    excess = dict(zip(names, evidence.excess.tolist(), strict=True))
    assert excess["x"] == pytest.approx([matches["x"][0] - matches["y"][0], 0.0], abs=1e-6)
    assert world.ask("silent storm").token_weights.tolist() == pytest.approx([0.5, 0.5])
    path = world.path("silent storm")
    best = _node(world, path, "share_best")
    assert best == pytest.approx({"x": 0.5, "y": 0.5, "z": 0.0})


def test_punctuation_weighs_no_more_than_the_least_word(chain: World) -> None:
    asked = chain.ask("the harbour?")
    assert asked.token_words.tolist() == [0, 1, -1]
    assert asked.token_weights.sum() == pytest.approx(1.0)
    the, harbour, mark = asked.token_weights.tolist()
    assert mark <= the < harbour
    assert chain.ask("?!").token_words.tolist() == [-1, -1]
    assert len(chain.ask("").token_weights) == 0


def test_sentences_and_names_of_candidates(chain: World) -> None:
    names, evidence = _evidence(chain, QUESTION)
    own = {name: np.flatnonzero(evidence.owner == n) for n, name in enumerate(names)}
    counts = {name: len(rows) for name, rows in own.items()}
    assert counts == {"film": 2, "woman": 2, "prize": 1, "twin": 1, "noise": 1}
    for n, name in enumerate(names):
        assert evidence.best_sentence[n] == evidence.sentence_cosine[own[name]].max()
    idf = math.log(5 / 2)
    # The title counts as said by the first sentence, the text says it in the second.
    assert evidence.sentence_asked_idf[own["film"]].tolist() == pytest.approx([idf, idf])
    assert evidence.sentence_asked_idf[own["prize"]].tolist() == pytest.approx([idf])
    assert evidence.asked_titles == 1


def test_edge_features_by_hand(chain: World) -> None:
    path = chain.path(QUESTION)
    both = {("prize", "twin"), ("twin", "prize")}
    same = _edge(chain, path, "same_title")
    assert {pair for pair, value in same.items() if value} == both
    names = _edge(chain, path, "names_target")
    # Twins name each other: one title.
    expected = {("film", "woman"), ("prize", "film")} | both
    assert {pair for pair, value in names.items() if value} == expected
    named_by = _edge(chain, path, "named_by_target")
    assert {(b, a) for (a, b), value in named_by.items() if value} == expected
    new = _edge(chain, path, "new_names_target")  # the question names the film itself
    assert {pair for pair, value in new.items() if value} == expected - {("prize", "film")}
    assert {pair for pair, value in _edge(chain, path, "both").items() if value} == both

    idf = math.log(5 / 2)
    shared = _edge(chain, path, "shared_idf")
    assert shared["film", "woman"] == shared["woman", "film"] == pytest.approx(idf)
    assert shared["film", "prize"] == 0.0
    assert _edge(chain, path, "asked_shared_idf")["film", "prize"] == pytest.approx(idf)
    assert _edge(chain, path, "shared_count")["prize", "twin"] == 1.0
    assert _edge(chain, path, "target_hub")["film", "woman"] == pytest.approx(math.log1p(2))

    rows = {id: chain.graph.rows[id] for id, _, _ in CHAIN}
    vector = {id: chain.graph.tables.vectors[row] for id, row in rows.items()}
    question = chain.ask(QUESTION).tokens.vector
    one, other = vector["film"], vector["woman"]
    assert _edge(chain, path, "cosine")["film", "woman"] == pytest.approx(one @ other, abs=1e-6)
    mean = (question + one) / np.linalg.norm(question + one)
    expanded = _edge(chain, path, "expanded")["film", "woman"]
    assert expanded == pytest.approx(float(other @ mean), abs=1e-5)
    rest = question - (question @ one) * one
    residual = float(other @ rest / np.linalg.norm(rest))
    assert _edge(chain, path, "residual")["film", "woman"] == pytest.approx(residual, abs=1e-5)


def test_titles_spelt_in_part_by_hand(make_world: MakeWorld) -> None:
    world = make_world(
        [
            ("film", "Silent Harbour", "Directed by Mira J. Okafor."),
            ("woman", "Mira Okafor", "She grew up."),
            ("uncle", "Bela Okafor", "He mended nets."),
        ]
    )
    path = world.path("Where did the director of Silent Harbour grow up, Mira?")
    # Of three passages two have the word Mira, three Okafor, one Bela.
    mira, okafor, bela = (math.log1p((3 - df + 0.5) / (df + 0.5)) for df in (2, 3, 1))
    share, fresh = _edge(world, path, "title_share"), _edge(world, path, "title_fresh")
    weight = _edge(world, path, "title_weight")
    assert share["film", "woman"] == pytest.approx(1.0)
    assert share["woman", "film"] == 0.0
    assert share["film", "uncle"] == pytest.approx(okafor / (okafor + bela))
    # The question itself says Mira.
    assert fresh["film", "woman"] == pytest.approx(okafor / (okafor + mira))
    assert weight["film", "woman"] == weight["film", "uncle"] == pytest.approx(okafor)
    for name, values in (("share", share), ("fresh", fresh), ("weight", weight)):
        own = _edge(world, path, f"own_title_{name}")
        assert own == {(b, a): value for (a, b), value in values.items()}


def test_a_title_spelt_in_part_is_an_edge(make_world: MakeWorld) -> None:
    head = [(f"h{n}", "", "where did the director of this work grow up") for n in range(30)]
    world = make_world([*head, ("x", "", "Anders B. Lund"), ("y", "Anders Lund", "zzz qqq")])
    path = world.path("where did the director of this work grow up", found=40)
    assert _edge(world, path, "title_fresh")["x", "y"] == pytest.approx(1.0)
    assert _edge(world, path, "shared_count")["x", "y"] == 0.0


def test_gains_are_what_the_target_adds(chain: World) -> None:
    path, asked = chain.path(QUESTION), chain.ask(QUESTION)
    names, evidence = _evidence(chain, QUESTION)
    weight = dict(zip(asked.words, asked.weights.tolist(), strict=True))
    gain, union = _edge(chain, path, "word_gain"), _edge(chain, path, "word_union")
    assert gain["film", "woman"] == pytest.approx(weight["up"], abs=1e-6)
    assert gain["woman", "film"] == pytest.approx(weight["silent"] + weight["harbour"], abs=1e-6)
    assert union["film", "woman"] == pytest.approx(union["woman", "film"])
    rows = dict(zip(names, evidence.matches, strict=True))
    more = np.maximum(rows["woman"] - rows["film"], 0) @ asked.token_weights
    assert _edge(chain, path, "token_gain")["film", "woman"] == pytest.approx(more, abs=1e-5)


def test_the_next_hop_on_edges(chain: World) -> None:
    asked, found = chain.ask(QUESTION), chain.find(QUESTION)
    path = chain.path(QUESTION)
    evidence = gather_evidence(chain.graph, asked, found.rows)
    vectors = np.asarray(chain.graph.tables.vectors[found.rows])
    hops = hop_scores(
        chain.graph, asked, evidence.words, evidence.mention_owner, evidence.mention_entity, vectors
    )
    names = [chain.graph.ids[row] for row in found.rows.tolist()]
    film, woman = names.index("film"), names.index("woman")
    hop, rank = _edge(chain, path, "hop"), _edge(chain, path, "hop_rank")
    edge = "film", "woman"
    assert hop[edge] == hops.score[film, woman] > 0 and rank[edge] == 0.0
    assert _edge(chain, path, "hop_behind_best")[edge] == 0.0
    gain = hop[edge] - _node(chain, path, "cosine")["woman"]
    assert _edge(chain, path, "hop_gain")[edge] == pytest.approx(gain, abs=1e-6)
    assert _edge(chain, path, "own_hop")["woman", "film"] == hop[edge]
    assert _edge(chain, path, "own_hop_rank")["woman", "film"] == 0.0
    assert _edge(chain, path, "hop_rank")["prize", "twin"] == pytest.approx(math.log1p(0))


def test_the_weight_is_the_published_one(make_world: MakeWorld) -> None:
    text = "The old mill stands by the river."
    world = make_world(
        [
            ("doc#1", "", f"Anna met John. {text}"),
            ("doc#2", "", f"Anna met Peter. {text}"),
            ("far", "", "Quite another thing, 12345 %%% zzz"),
        ]
    )
    path = world.path("who met anna")
    ids = [world.graph.ids[row] for row in path.rows.tolist()]
    ends = zip(path.edges.source.tolist(), path.edges.target.tolist(), strict=True)
    weight = {
        (ids[a], ids[b]): w for (a, b), w in zip(ends, path.edges.weight.tolist(), strict=True)
    }
    cosine = _edge(world, path, "cosine")
    config = TopologyConfig()
    assert cosine["doc#1", "doc#2"] > config.cosine > cosine["doc#1", "far"]
    # Consecutive chunks; names {anna, john} and {anna, peter}: Jaccard 1 / 3.
    values = np.array([[1.0, cosine["doc#1", "doc#2"], 1 / 3], [0.0, 0.0, 0.0]])
    near, none = published(values, config.alpha, config.beta, config.gamma).tolist()
    assert weight["doc#1", "doc#2"] == weight["doc#2", "doc#1"] == pytest.approx(near, abs=1e-6)
    by_hand = 0.3 + 0.7 * (0.35 * values[0, 1] + 0.65 / 3)
    assert near == pytest.approx(by_hand)
    assert weight["doc#1", "far"] == none == 0.0


def test_the_prior_is_that_of_the_published_anchors(chain: World) -> None:
    path = chain.path(QUESTION)
    names, evidence = _evidence(chain, QUESTION)
    scores = path.nodes[:, 0] + ENTITY_BOOST * evidence.asked_names  # one name in the question
    anchors = sorted(range(len(names)), key=lambda n: (-scores[n], n))[:3]
    expected = positive(scores.astype(np.float64), anchors)
    np.testing.assert_allclose(path.prior, expected, atol=1e-6)
    assert path.prior.sum() == pytest.approx(1.0) and (path.prior > 0).sum() == 3


def test_a_sentence_leads_on_to_the_best_candidate_it_names(chain: World) -> None:
    path = chain.path(QUESTION)
    at = {chain.graph.ids[row]: n for n, row in enumerate(path.rows.tolist())}
    cosine = _node(chain, path, "cosine")
    own = path.sentences[path.sentence_owner == at["film"]][:, SENTENCE_FEATURES.index("leads_on")]
    assert own.tolist() == pytest.approx([0.0, cosine["woman"]])
    position = path.sentences[:, SENTENCE_FEATURES.index("position")]
    assert position[path.sentence_owner == at["film"]].tolist() == pytest.approx([0, math.log(2)])
    is_first = path.sentences[:, SENTENCE_FEATURES.index("is_first")]
    assert is_first.sum() == 5


words = st.sampled_from(
    ["Rome", "rome", "Anna", "river", "The", "of", "1984", ".", "\n", "東京", "é", "Old", "", "\0"]
)
text = st.lists(words, max_size=8).map(" ".join)
corpora = st.lists(st.tuples(text, text), max_size=7)


def _key(world: World, path: PathGraph, names: dict[str, str]) -> dict[str, Any]:
    """Everything in a candidate graph, by (renamed) id."""
    ids = [names[world.graph.ids[row]] for row in path.rows.tolist()]
    ends = zip(path.edges.source.tolist(), path.edges.target.tolist(), strict=True)
    edges = {
        (ids[a], ids[b]): np.append(f, w)
        for (a, b), f, w in zip(ends, path.edges.features, path.edges.weight, strict=True)
    }
    return {
        "nodes": dict(zip(ids, np.column_stack([path.nodes, path.prior]), strict=True)),
        "edges": edges,
        "sentences": {id: path.sentences[path.sentence_owner == n] for n, id in enumerate(ids)},
    }


def _alike(one: dict[str, Any], other: dict[str, Any]) -> None:
    for part, values in one.items():
        assert values.keys() == other[part].keys()
        for key, row in values.items():
            np.testing.assert_allclose(other[part][key], row, atol=2e-6, err_msg=f"{part} {key}")


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(corpora, text, st.randoms(use_true_random=False))
def test_everything_is_finite_and_ordered(
    make_world: MakeWorld, passages: list[tuple[str, str]], question: str, draw: random.Random
) -> None:
    rows = [(f"p{n}", title, body) for n, (title, body) in enumerate(passages)]
    world = make_world(rows, f"store{draw.getrandbits(60)}", width=128)
    path = world.path(question, found=3, front=2)
    for array in (path.nodes, path.edges.features, path.edges.weight, path.sentences, path.prior):
        assert np.isfinite(array).all()
    count = len(path.rows)
    assert path.prior.sum() == pytest.approx(1.0 if count else 0.0, abs=1e-5)
    key = path.edges.source * count + path.edges.target
    assert (np.diff(key) > 0).all()
    pairs = set(zip(path.edges.source.tolist(), path.edges.target.tolist(), strict=True))
    assert pairs == {(b, a) for a, b in pairs} and all(a != b for a, b in pairs)
    assert (path.edges.weight >= 0).all()
    assert set(path.sentence_owner.tolist()) == set(range(count))


def test_ids_and_the_order_of_the_file_do_not_count(make_world: MakeWorld) -> None:
    kinds = ("river", "tower", "painter", "village", "bridge")
    rows = []
    for n in range(18):  # texts of different lengths, so no two scores tie
        title, next_title = (f"Name {chr(65 + m)}{m}" for m in (n, n + 1))
        body = f"A {kinds[n % 5]} near {next_title}. " + f"filler{n} " * n
        rows.append((f"p{n:02}", title, body))
    names = {id: f"x{(7 * n) % 18:02}" for n, (id, _, _) in enumerate(rows)}
    other = [(names[id], title, body) for id, title, body in rows]
    random.Random(5).shuffle(other)
    question = "Which painter lived in the village near Name D3?"
    limits = {"found": 5, "front": 3}
    one = make_world(rows, "one")
    two = make_world(other, "two")
    scores = one.find(question).dense.tolist()
    assert len(set(scores)) == len(scores)  # ties alone may go by id
    _alike(
        _key(one, one.path(question, **limits), names),
        _key(two, two.path(question, **limits), {id: id for id in names.values()}),
    )


def test_nothing_found_gives_empty_arrays_of_the_right_width(make_world: MakeWorld) -> None:
    world = make_world([])
    path = world.path("Who knows Rome?")
    assert path.nodes.shape == (0, len(NODES))
    assert path.edges.features.shape == (0, len(EDGES))
    assert path.sentences.shape == (0, len(SENTENCE_FEATURES))
    asked, found = world.ask("Rome?"), world.find("Rome?")
    evidence = gather_evidence(world.graph, asked, found.rows)
    assert len(edge_features(world.graph, asked, found, evidence).leads_on) == 0
