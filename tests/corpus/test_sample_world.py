import itertools
import re
from collections import Counter

import pytest

from rag_research.config import build
from rag_research.corpus.dataset import Dataset
from rag_research.corpus.sample.names import root
from rag_research.corpus.sample.templates import given_names
from rag_research.corpus.sample.world import World, hand_written
from rag_research.corpus.sample_world import SampleWorld, SampleWorldConfig
from rag_research.errors import ConfigError

SHORT_NAMES = 58_080


@pytest.fixture(scope="module")
def loader() -> SampleWorld:
    return SampleWorld(SampleWorldConfig())


@pytest.fixture(scope="module")
def dataset(loader: SampleWorld) -> Dataset:
    return loader.load()


def test_default_counts(dataset: Dataset) -> None:
    assert len(dataset.corpus) == 200
    assert len(dataset.questions) == 48
    types = Counter(question.type for question in dataset.questions)
    assert set(types) == {"bridge", "comparison", "composition", "three_hop"}
    assert min(types.values()) >= 10


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_titles_texts_and_questions_are_unique(seed: int) -> None:
    dataset = SampleWorld(SampleWorldConfig(seed=seed)).load()
    assert len({p.title for p in dataset.corpus}) == len(dataset.corpus)
    assert len({p.text for p in dataset.corpus}) == len(dataset.corpus)
    assert len({q.text for q in dataset.questions}) == len(dataset.questions)


def test_the_same_seed_gives_the_same_world_and_another_seed_another(dataset: Dataset) -> None:
    again = SampleWorld(SampleWorldConfig()).load()
    assert again.corpus.fingerprint == dataset.corpus.fingerprint
    assert again.questions == dataset.questions
    other = SampleWorld(SampleWorldConfig(seed=1)).load()
    assert other.corpus.fingerprint != dataset.corpus.fingerprint


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_gold_triplets_are_stated_in_their_passages(seed: int) -> None:
    loader = SampleWorld(SampleWorldConfig(seed=seed))
    corpus = loader.load().corpus
    triplets = loader.gold_triplets()
    assert set(triplets) == set(corpus.ids)
    for id, facts in triplets.items():
        for fact in facts:
            assert fact.subject in corpus[id].text
            assert fact.object in corpus[id].text


def test_every_article_states_a_fact(loader: SampleWorld) -> None:
    assert all(loader.gold_triplets().values())


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_evidence_is_in_the_gold_passages_and_ends_at_the_answer(seed: int) -> None:
    loader = SampleWorld(SampleWorldConfig(seed=seed))
    dataset = loader.load()
    triplets = loader.gold_triplets()
    for question in dataset.questions:
        stated = [fact for id in question.gold_passages for fact in triplets[id]]
        assert set(question.evidence) <= set(stated)
        assert len(question.gold_passages) == (3 if question.type == "three_hop" else 2)
        texts = [dataset.corpus[id].text for id in question.gold_passages]
        assert any(question.answers[0] in text for text in texts)
        if question.type != "comparison":
            assert question.evidence[-1].object == question.answers[0]


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_chains_hang_together_and_only_their_start_is_named(seed: int) -> None:
    for question in SampleWorld(SampleWorldConfig(seed=seed)).load().questions:
        if question.type == "comparison":
            continue
        for one, other in itertools.pairwise(question.evidence):
            ends = {slot.lower() for slot in (one.subject, one.object)}
            assert ends & {slot.lower() for slot in (other.subject, other.object)}
        last = question.evidence[-1]
        assert last.subject not in question.text
        assert question.answers[0] not in question.text


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_comparisons_follow_from_their_two_numbers(seed: int) -> None:
    for question in SampleWorld(SampleWorldConfig(seed=seed)).load().questions:
        if question.type != "comparison":
            continue
        one, other = question.evidence
        values = [int("".join(filter(str.isdigit, fact.object))) for fact in (one, other)]
        assert values[0] != values[1]
        larger = any(word in question.text for word in ("longer", "more inhabitants", "populous"))
        winner = (one, other)[values.index(max(values) if larger else min(values))]
        assert question.answers[0].lower() == winner.subject.lower()
        assert all(fact.subject in question.text for fact in (one, other))


def test_a_chain_cannot_be_cut_short(dataset: Dataset) -> None:
    generated = [q for q in dataset.questions if not q.id.startswith("written")]
    for question in generated:
        if question.type != "comparison":
            earlier = [dataset.corpus[id].text for id in question.gold_passages[:-1]]
            assert not any(question.answers[0] in text for text in earlier)


def test_sorted_ids_hide_which_articles_belong_together(dataset: Dataset) -> None:
    assert list(dataset.corpus.ids) == sorted(dataset.corpus.ids)
    position = {id: i for i, id in enumerate(dataset.corpus.ids)}
    chains = [q.gold_passages for q in dataset.questions]
    near = [abs(position[a] - position[b]) == 1 for a, b, *_ in chains]
    assert sum(near) <= 3  # chance gives 0.5 of 48


def test_a_larger_world_holds_the_smaller_one_and_new_names(dataset: Dataset) -> None:
    larger = SampleWorld(SampleWorldConfig(passages=500, questions=200)).load()
    assert set(dataset.corpus.ids) < set(larger.corpus.ids)
    assert len({p.title for p in larger.corpus}) == 500
    assert len(larger.questions) == 200
    assert len({q.text for q in larger.questions}) == 200


def test_twenty_thousand_passages_stream_with_unique_titles_and_ids() -> None:
    titles, ids = set(), set()
    for passage, triplets in World(20_000, seed=0).articles():
        titles.add(passage.title)
        ids.add(passage.id)
        assert triplets
    assert len(titles) == len(ids) == 20_000


def test_given_and_hand_written_names_are_not_among_the_invented_ones() -> None:
    words = {word for passage, _ in hand_written() for word in re.findall(r"\w+", passage.text)}
    words |= {name for _, name in given_names()}
    assert not words & {root(index, 0) for index in range(SHORT_NAMES)}


def test_names_are_one_to_one_past_the_end_of_the_short_ones() -> None:
    names = [root(index, 3) for index in range(SHORT_NAMES + 20_000)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("settings", [{"passages": 40}, {"questions": -1}])
def test_sizes_out_of_range_are_refused(settings: dict[str, int]) -> None:
    with pytest.raises(ConfigError):
        build(SampleWorldConfig, settings)
