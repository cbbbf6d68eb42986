"""The corpus graph of six passages, array by array, and what it must not depend on."""

import math
import random
from itertools import pairwise
from pathlib import Path

import numpy as np

from rag_research.corpus.corpus import Corpus
from rag_research.embed.hashing import Hashing, HashingConfig
from rag_research.graph.corpus_entities import STOP_WORDS, key_hash
from rag_research.graph.corpus_graph import STOP_WORD_WEIGHT, CorpusGraph, build_corpus_graph
from rag_research.types import Passage

from .conftest import CountingHashing, MakeWorld

PASSAGES = [
    ("a", "Ulm", "Ulm lies on the Danube. Anna was born here."),
    ("b", "Anna (queen)", "Anna married John."),
    ("c", "", "no names here"),
    ("d", "The Danube", "A river near Ulm. Old Ulm is far."),
    ("f#1", "Book", "One two."),
    ("f#2", "Book", "Two three."),
]
NAMES = ["anna", "book", "danube", "john", "old ulm", "one", "two", "ulm"]
WORDS = (
    *("a", "anna", "book", "born", "danube", "far", "here", "is", "john", "lies", "married"),
    *("names", "near", "no", "old", "on", "one", "queen", "river", "the", "three", "two"),
    *("ulm", "was"),
)


def _runs(graph: CorpusGraph, start: str, values: str) -> list[list[int]]:
    bounds = graph.arrays[start].tolist()
    flat = graph.arrays[values].tolist()
    assert bounds[0] == 0 and bounds[-1] == len(flat)
    return [flat[a:b] for a, b in pairwise(bounds)]


def _same(one: CorpusGraph, other: CorpusGraph) -> None:
    assert one.ids == other.ids
    assert one.arrays.keys() == other.arrays.keys()
    for name, array in one.arrays.items():
        np.testing.assert_array_equal(array, other.arrays[name], err_msg=name)
    for name in one.tables.__slots__:
        np.testing.assert_array_equal(getattr(one.tables, name), getattr(other.tables, name))
    np.testing.assert_array_equal(one.bridges, other.bridges)


def test_arrays_of_names_by_hand(make_world: MakeWorld) -> None:
    graph = make_world(PASSAGES).graph
    names = sorted(NAMES, key=key_hash)
    arrays = graph.arrays
    assert arrays["entity_hash"].tolist() == [key_hash(name) for name in names]

    holders = dict(zip(names, _runs(graph, "entity_start", "entity_passages"), strict=True))
    assert holders == {
        "anna": [0, 1],
        "book": [4, 5],
        "danube": [0, 3],
        "john": [1],
        "old ulm": [3],
        "one": [4],
        "two": [5],
        "ulm": [0, 3],
    }
    titled = dict(zip(names, _runs(graph, "titled_start", "titled_passages"), strict=True))
    assert {name: rows for name, rows in titled.items() if rows} == {
        "ulm": [0],
        "anna": [1],
        "danube": [3],
        "book": [4, 5],
    }
    title = [names[number] if number >= 0 else None for number in arrays["title_entity"].tolist()]
    assert title == ["ulm", "anna", None, "danube", "book", "book"]
    assert graph.title_named.tolist() == [2, 2, 0, 2, 2, 2]
    assert graph.title_shared.tolist() == [1, 1, 0, 1, 2, 2]

    entities = _runs(graph, "mention_start", "mention_entity")
    sentences = _runs(graph, "mention_start", "mention_sentence")
    assert [
        [(names[e], s) for e, s in zip(es, ss, strict=True)]
        for es, ss in zip(entities, sentences, strict=True)
    ] == [
        [("danube", 0), ("ulm", 0), ("anna", 1)],
        [("anna", 2), ("john", 2)],
        [],
        [("danube", 4), ("ulm", 4), ("old ulm", 5), ("ulm", 5)],
        [("book", 6), ("one", 6)],
        [("book", 7), ("two", 7)],
    ]
    bridges = [name for name in names if len(holders[name]) > 1]
    assert sorted(bridges) == ["anna", "book", "danube", "ulm"]
    assert [names[number] for number in arrays["bridge_entity"].tolist()] == bridges
    letters, start = arrays["bridge_letters"].tobytes(), arrays["bridge_start"].tolist()
    assert [letters[a:b].decode() for a, b in pairwise(start)] == bridges
    np.testing.assert_array_equal(
        graph.bridges, Hashing(HashingConfig()).encode(bridges, "passage")
    )
    assert [graph.bridge_of[number] for number in arrays["bridge_entity"]] == [0, 1, 2, 3]
    assert graph.bridge_of[names.index("john")] == -1

    idf = dict(zip(names, graph.entity_idf.tolist(), strict=True))
    assert math.isclose(idf["anna"], math.log(3), rel_tol=1e-6)
    assert math.isclose(idf["one"], math.log(6), rel_tol=1e-6)


def test_arrays_of_words_and_passages_by_hand(make_world: MakeWorld) -> None:
    graph = make_world(PASSAGES).graph
    words = sorted(WORDS, key=key_hash)
    arrays = graph.arrays
    assert arrays["word_hash"].tolist() == [key_hash(word) for word in words]
    own = [{words[w] for w in row} for row in _runs(graph, "word_start", "word_ids")]
    assert own == [
        {"ulm", "lies", "on", "the", "danube", "anna", "was", "born", "here"},
        {"anna", "queen", "married", "john"},
        {"no", "names", "here"},
        {"the", "danube", "a", "river", "near", "ulm", "old", "is", "far"},
        {"book", "one", "two"},
        {"book", "two", "three"},
    ]
    counts = {words[w]: df for w, df in enumerate(arrays["word_df"].tolist())}
    assert counts == {word: sum(word in row for row in own) for word in WORDS}
    titles = [{words[w] for w in row} for row in _runs(graph, "title_word_start", "title_word_ids")]
    assert titles == [{"ulm"}, {"anna"}, set(), {"danube"}, {"book"}, {"book"}]
    holders = dict(zip(words, _runs(graph, "word_titles_start", "word_titles"), strict=True))
    assert {word: own for word, own in holders.items() if own} == {
        "ulm": [0], "anna": [1], "danube": [3], "book": [4, 5]
    }  # fmt: skip
    idf = {words[w]: graph.word_idf(np.array([w]))[0] for w in range(len(words))}
    assert math.isclose(idf["danube"], math.log1p(4.5 / 2.5), rel_tol=1e-6)
    expected = [idf["ulm"], idf["anna"], 0, idf["danube"], idf["book"], idf["book"]]
    np.testing.assert_allclose(graph.title_weight, expected, rtol=1e-6)
    assert arrays["length"].tolist() == [10, 5, 3, 10, 3, 3]
    assert arrays["document"].tolist() == [0, 1, 2, 3, 4, 4]
    assert arrays["position"].tolist() == [0, 0, 0, 0, 0, 1]
    letters = arrays["titles"].tobytes().decode()
    assert letters == "UlmAnna (queen)The DanubeBookBook"
    assert arrays["titles_start"].tolist() == [0, 3, 15, 15, 25, 29, 33]
    assert graph.rows == {id: row for row, (id, _, _) in enumerate(PASSAGES)}


def test_words_weigh_by_idf_and_function_words_little(make_world: MakeWorld) -> None:
    graph = make_world(PASSAGES).graph
    numbers, weights = graph.words_of(["ulm", "the", "nowhere", "john"])
    hashes = graph.arrays["word_hash"]
    assert [hashes[n] for n in numbers[[0, 1, 3]]] == [key_hash(w) for w in ("ulm", "the", "john")]
    assert numbers[2] == -1
    assert "the" in STOP_WORDS
    expected = [
        math.log1p(4.5 / 2.5),
        STOP_WORD_WEIGHT,
        math.log1p(6.5 / 0.5),
        math.log1p(5.5 / 1.5),
    ]
    np.testing.assert_allclose(weights, expected, rtol=1e-6)
    assert graph.entities_of(["ulm", "nowhere"]).tolist() == [
        graph.arrays["entity_hash"].tolist().index(key_hash("ulm"))
    ]


def test_the_order_of_the_corpus_does_not_count(make_world: MakeWorld) -> None:
    shuffled = PASSAGES[:]
    random.Random(3).shuffle(shuffled)
    _same(make_world(PASSAGES).graph, make_world(shuffled, "shuffled").graph)


def test_other_ids_give_the_same_names_to_the_same_passages(make_world: MakeWorld) -> None:
    ids = {"a": "z", "b": "m", "c": "k", "d": "b", "f#1": "a#1", "f#2": "a#2"}
    one = make_world(PASSAGES).graph
    other = make_world([(ids[id], title, text) for id, title, text in PASSAGES], "renamed").graph
    place = [other.rows[ids[id]] for id in one.ids]
    for start, values in (
        ("mention_start", "mention_entity"),
        ("word_start", "word_ids"),
        ("title_word_start", "title_word_ids"),
    ):
        renamed = _runs(other, start, values)
        assert _runs(one, start, values) == [renamed[row] for row in place]
    for name in ("title_entity", "length", "position"):
        assert one.arrays[name].tolist() == other.arrays[name][place].tolist()
    np.testing.assert_array_equal(one.tables.vectors, other.tables.vectors[place])


def test_growing_equals_building_at_once_and_reads_only_what_is_new(make_world: MakeWorld) -> None:
    whole = make_world(PASSAGES, "whole")
    some = make_world(PASSAGES[1::2], "growing")
    encoder = CountingHashing()
    grown = build_corpus_graph(whole.corpus, encoder, some.store)
    _same(whole.graph, grown)
    texts = {p.contents for p in whole.corpus} - {p.contents for p in some.corpus}
    # Of the names only Book was shared among what was there before.
    assert set(encoder.read) == texts | {"anna", "ulm", "danube", "book"}


def test_found_again_without_encoding(make_world: MakeWorld) -> None:
    world = make_world(PASSAGES)
    encoder = CountingHashing()
    _same(world.graph, build_corpus_graph(world.corpus, encoder, world.store))
    assert encoder.read == []


def test_where_the_title_ends_is_part_of_the_artefact(make_world: MakeWorld) -> None:
    world = make_world([("x", "Ulm", "big town")])
    untitled = Corpus([Passage("x", "", "Ulm\nbig town")])
    assert untitled["x"].contents == world.corpus["x"].contents
    graph = build_corpus_graph(untitled, world.encoder, world.store)
    assert world.graph.arrays["title_entity"].tolist() == [0]
    assert graph.arrays["title_entity"].tolist() == [-1]
    assert len(list((world.store.root / "corpus-graph").glob("*/manifest.json"))) == 2


def test_one_endless_title_does_not_widen_the_others(make_world: MakeWorld, tmp_path: Path) -> None:
    rows = [(f"p{i}", f"Town {i}", "text") for i in range(50)]
    make_world([*rows, ("long", "Very " * 20_000 + "long", "text")])
    files = (tmp_path / "store" / "corpus-graph").glob("*/*.npy")
    assert 100_000 < sum(file.stat().st_size for file in files) < 200_000


def test_arrays_are_mapped_not_read(make_world: MakeWorld) -> None:
    graph = make_world(PASSAGES).graph
    base = graph.arrays["entity_passages"].base
    assert isinstance(base, np.memmap) and type(graph.arrays["entity_passages"]) is np.ndarray


def test_no_passages_and_passages_without_words(make_world: MakeWorld) -> None:
    empty = make_world([]).graph
    assert len(empty) == 0 and empty.ids == ()
    assert empty.words_of(["ulm"])[0].tolist() == [-1]
    silent = make_world([("x", "", ""), ("y", "", "!!!")], "silent").graph
    assert silent.arrays["length"].tolist() == [0, 0]
    assert silent.words_of(["ulm"])[0].tolist() == [-1]
    assert silent.title_named.tolist() == [0, 0]
    assert empty.bridges.shape == silent.bridges.shape == (0, 256)


def test_names_are_found_without_capital_letters(make_world: MakeWorld) -> None:
    def found(text: str, others: int) -> list[str]:
        """Names in a text, where so many passages have the word `hope` and do not name it."""
        more = [(f"o{n}", "", "There is hope.") for n in range(others)]
        world = [*PASSAGES, ("e", "", "I met Hope, the sister of New Ulm."), *more]
        graph = make_world(world, folder=f"store{others}").graph
        names = {key_hash(name): name for name in [*NAMES, "hope", "new ulm"]}
        numbers = graph.entities_in(text.split()).tolist()
        return [names[hash] for hash in graph.arrays["entity_hash"][numbers].tolist()]

    asked = "is the old ulm or new ulm near danube where hope lies"
    assert found(asked, others=1) == ["old ulm", "new ulm", "danube", "hope"]
    assert found(asked, others=2) == ["old ulm", "new ulm", "danube"]
    assert found("where was nobody born", others=1) == found("", others=1) == []


def test_a_question_in_small_letters_names_the_same(make_world: MakeWorld) -> None:
    world = make_world(PASSAGES)
    question = "Did Anna see Ulm on the Danube?"
    entities = world.ask(question).entities.tolist()
    assert len(entities) == 3
    assert world.ask(question.lower()).entities.tolist() == entities


def test_without_a_title_the_name_a_text_starts_with_is_one(make_world: MakeWorld) -> None:
    film = "Silent Harbour was directed by Mira Okafor in a studio."
    titled = [("film", "Silent Harbour", film), ("woman", "Mira Okafor", "Born in Ulm.")]
    bare = [("film", "", film), ("woman", "", "Mira Okafor was born in Ulm."), ("x", "", "Ulm.")]
    names = []
    for passages, folder in ((titled, "titled"), (bare, "bare")):
        graph = make_world(passages, folder=folder).graph
        title = graph.arrays["title_entity"]
        names.append(graph.arrays["entity_hash"][title[:2]].tolist())
        assert _runs(graph, "titled_start", "titled_passages").count([1]) == 1
    assert names[0] == names[1] == [key_hash("silent harbour"), key_hash("mira okafor")]
    assert title.tolist()[2] == -1
