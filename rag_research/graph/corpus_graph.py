"""The corpus-wide topology graph: passages, sentences, tokens, and who names whom.

Built once, offline, without a language model. Candidate graphs of questions are cut out of it.
Everything is an array on disk, memory-mapped; per million passages of 110 tokens at D = 384
that is about 14 GB of tokens, 3 GB of sentence vectors, 1.5 GB of vectors and 1 GB of names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_research.corpus.corpus import Corpus
from rag_research.embed.token_store import TokenStore, TokenTables
from rag_research.extract.spans import merge_passages
from rag_research.graph.corpus_entities import (
    STOP_WORDS,
    NameDictionary,
    folded_words,
    key_hash,
    named,
    title_key,
)
from rag_research.graph.passage_neighbours import Table, passage_neighbours
from rag_research.index.dense import texts_fingerprint
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.runtime.progress import progress

STAGE = "corpus-graph"
VERSION = 2
STOP_WORD_WEIGHT = 0.1

Integers = NDArray[np.int64]
Arrays = Mapping[str, NDArray[Any]]
Places = Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class CorpusGraph:
    """N passages in the order of their ids, so no result depends on the order in a file.

    Args:
        ids: of the passages, sorted.
        tables: vectors, sentences and tokens, see :class:`TokenTables`.
        arrays: names and words, see :func:`corpus_arrays`.
        neighbours: see :func:`passage_neighbours`.
    """

    ids: tuple[str, ...]
    tables: TokenTables
    arrays: Arrays
    neighbours: Table | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def rows(self) -> Mapping[str, int]:
        """Row of each passage id."""
        return {id: row for row, id in enumerate(self.ids)}

    @cached_property
    def names(self) -> NameDictionary:
        """Finds titles of the corpus in a question."""
        letters, start = self.arrays["titles"].tobytes(), self.arrays["titles_start"].tolist()
        return NameDictionary(letters[a:b].decode() for a, b in pairwise(start))

    @cached_property
    def entity_idf(self) -> NDArray[np.float32]:
        """``ln(N / df)`` of each entity. [K]"""
        df = np.diff(self.arrays["entity_start"])
        return np.log(len(self) / np.maximum(df, 1)).astype(np.float32)

    @cached_property
    def title_named(self) -> Integers:
        """How many passages name, or have, each passage's title; 0 without one. [N]"""
        return _sizes(self.arrays["entity_start"], self.arrays["title_entity"])

    @cached_property
    def title_shared(self) -> Integers:
        """How many passages have each passage's title; 0 without one. [N]"""
        return _sizes(self.arrays["titled_start"], self.arrays["title_entity"])

    def entities_of(self, keys: Iterable[str]) -> Integers:
        """Entity numbers of keys; unknown ones are left out."""
        return _found(self.arrays["entity_hash"], keys)[1]

    def words_of(self, words: Sequence[str]) -> tuple[Integers, NDArray[np.float32]]:
        """Word number (-1 where unknown) and weight of each word: its IDF, little for a stop word.

        Shapes:
            [W] -> [W], [W]
        """
        numbers = np.full(len(words), -1, np.int64)
        at, found = _found(self.arrays["word_hash"], words)
        numbers[at] = found
        df = np.zeros(len(words), np.int64)
        df[at] = self.arrays["word_df"][found]
        idf = np.log1p((len(self) - df + 0.5) / (df + 0.5))
        stop = np.array([word in STOP_WORDS for word in words], bool)
        return numbers, np.where(stop, STOP_WORD_WEIGHT, idf).astype(np.float32)


def _sizes(start: NDArray[Any], groups: NDArray[Any]) -> Integers:
    """Sizes of groups, 0 for -1."""
    return np.append(np.diff(start), 0)[groups]


def _found(hashes: NDArray[np.uint64], keys: Iterable[str]) -> tuple[Integers, Integers]:
    """Positions of the known keys among ``keys``, and their places among ``hashes``."""
    wanted = np.array([key_hash(key) for key in keys], np.uint64)
    place = np.minimum(np.searchsorted(hashes, wanted), max(len(hashes) - 1, 0))
    known = hashes[place] == wanted if len(hashes) else np.zeros(len(wanted), bool)
    return np.flatnonzero(known), place[known].astype(np.int64)


def build_corpus_graph(
    corpus: Corpus, encoder: Any, store: ArtifactStore, places: Places | None = None
) -> CorpusGraph:
    """Build, or find in ``store``, the graph of a corpus. Costs no LLM token.

    A corpus that grows costs the encoding of what is new; names and words are counted again,
    which takes seconds for ten thousand passages.

    Args:
        corpus: the passages.
        encoder: one that gives token states.
        store: keeps everything.
        places: number of each passage's document, and its place there; found from ids such as
            ``NAME#2`` when left out.
    """
    ids = tuple(sorted(corpus.ids))
    passages = [corpus[id] for id in ids]
    texts = [passage.contents for passage in passages]
    heads = [p.text_start for p in passages]
    tables = TokenStore(store.root, encoder).tables(texts, heads=heads, label="encode passages")

    def write(directory: Path) -> Mapping[str, int]:
        arrays = corpus_arrays(corpus, ids, tables, places)
        for name, array in arrays.items():
            np.save(directory / f"{name}.npy", array, allow_pickle=False)
        return {"passages": len(ids), "entities": len(arrays["entity_hash"])}

    fingerprint = texts_fingerprint(ids, texts)
    inputs = {
        "places": places and [places[id] for id in ids],
        "texts": fingerprint,
        "titles": texts_fingerprint(ids, [p.title for p in passages]),
    }
    artifact = store.ensure(STAGE, VERSION, inputs, write)
    files = sorted(artifact.path.glob("*.npy"))
    arrays = {path.stem: _mapped(np.load(path, mmap_mode="r")) for path in files}
    tables = TokenTables(*(_mapped(getattr(tables, field.name)) for field in fields(tables)))
    neighbours = passage_neighbours(tables.vectors, fingerprint, encoder, store)
    return CorpusGraph(ids, tables, arrays, neighbours)


def _mapped(array: NDArray[Any]) -> NDArray[Any]:
    """The same memory as a plain array: each use of a ``memmap`` costs microseconds more."""
    return np.asarray(array)


def corpus_arrays(
    corpus: Corpus, ids: Sequence[str], tables: TokenTables, places: Places | None = None
) -> Arrays:
    """Names and words of passages as arrays.

    Args:
        corpus: the passages.
        ids: their order.
        tables: sentences of the same passages in the same order.
        places: see :func:`build_corpus_graph`.

    Returns:
        For K entities, R mentions (each entity once a sentence), V words:
        ``titles`` and ``titles_start`` [N + 1]: the titles in UTF-8, joined;
        ``entity_hash`` [K], sorted; ``entity_start`` [K + 1] and ``entity_passages``: the
        passages that name each entity, or have it as their title;
        ``title_entity`` [N], -1 without a title; ``titled_start`` [K + 1] and
        ``titled_passages``: the passages of each title;
        ``mention_start`` [N + 1], ``mention_entity`` [R], ``mention_sentence`` [R];
        ``word_hash`` [V], sorted; ``word_df`` [V]; ``word_start`` [N + 1] and ``word_ids``: the
        words of each passage, each once; ``title_word_start``, ``title_word_ids`` likewise;
        ``length`` [N] in words; ``document`` [N] and ``position`` [N]: which document a passage
        is a chunk of, and its place there.
    """
    passages = [corpus[id] for id in ids]
    names = NameDictionary(passage.title for passage in passages)
    mentions: list[list[tuple[str, int]]] = []
    words: list[set[str]] = []
    title_words: list[set[str]] = []
    length = np.zeros(len(ids), np.int32)
    titles = [title_key(passage.title) for passage in passages]
    with progress("find names", len(ids)) as advance:
        for row, passage in enumerate(passages):
            first, last = tables.sentence_start[row], tables.sentence_start[row + 1]
            starts = np.asarray(tables.sentence_offsets[first:last, 0])
            mentions.append(_mentions(passage.contents, names, starts, int(first), titles[row]))
            own = [word for word, _, _ in folded_words(passage.contents)]
            words.append(set(own))
            title_words.append(set(titles[row].split()))
            length[row] = len(own)
            advance()
    arrays = _entity_arrays(mentions, titles)
    arrays |= _word_arrays(words, title_words)
    document, position = _documents(corpus, ids, places)
    letters = [passage.title.encode("utf-8", "replace") for passage in passages]
    arrays |= {
        "titles": np.frombuffer(b"".join(letters), np.uint8),
        "titles_start": np.cumsum([0, *map(len, letters)]).astype(np.int64),
    }
    return arrays | {"length": length, "document": document, "position": position}


def _mentions(
    text: str, names: NameDictionary, starts: NDArray[Any], first: int, title: str
) -> list[tuple[str, int]]:
    found = {
        (key, first + max(int(np.searchsorted(starts, at, "right")) - 1, 0))
        for key, places in named(text, names).items()
        for at in places
    }
    if title:
        found.add((title, first))
    return sorted(found, key=lambda item: (item[1], item[0]))


def _entity_arrays(
    mentions: Sequence[Sequence[tuple[str, int]]], titles: Sequence[str]
) -> dict[str, NDArray[Any]]:
    keys = {key for own in mentions for key, _ in own}
    hashes = {key: key_hash(key) for key in keys}
    sorted_hashes = np.unique(np.fromiter(hashes.values(), np.uint64, len(hashes)))
    number = {
        key: int(place)
        for key, place in zip(
            hashes,
            np.searchsorted(sorted_hashes, np.fromiter(hashes.values(), np.uint64, len(hashes))),
            strict=True,
        )
    }
    start = np.cumsum([0, *(len(own) for own in mentions)])
    entity = np.array([number[key] for own in mentions for key, _ in own], np.int32)
    sentence = np.array([s for own in mentions for _, s in own], np.int64)
    passage = np.repeat(np.arange(len(mentions)), np.diff(start))
    pairs = (
        np.unique(np.stack([entity, passage], 1), axis=0)
        if len(entity)
        else np.empty((0, 2), np.int64)
    )
    title = np.array([number[key] if key else -1 for key in titles], np.int64)
    order = np.argsort(title, kind="stable")
    order = order[title[order] >= 0]
    return {
        "entity_hash": sorted_hashes,
        "entity_start": _starts(pairs[:, 0], len(sorted_hashes)),
        "entity_passages": pairs[:, 1].astype(np.int32),
        "title_entity": title,
        "titled_start": _starts(title[order], len(sorted_hashes)),
        "titled_passages": order.astype(np.int32),
        "mention_start": start.astype(np.int64),
        "mention_entity": entity,
        "mention_sentence": sentence,
    }


def _word_arrays(
    words: Sequence[set[str]], title_words: Sequence[set[str]]
) -> dict[str, NDArray[Any]]:
    vocabulary = sorted({word for own in words for word in own})
    hashes = np.array([key_hash(word) for word in vocabulary], np.uint64)
    order = np.argsort(hashes)
    number = {vocabulary[old]: new for new, old in enumerate(order)}
    arrays: dict[str, NDArray[Any]] = {"word_hash": hashes[order]}
    for name, sets in (("word", words), ("title_word", title_words)):
        rows = [np.sort([number[word] for word in own if word in number]) for own in sets]
        arrays[f"{name}_start"] = np.cumsum([0, *(len(row) for row in rows)]).astype(np.int64)
        joined = np.concatenate(rows) if rows else np.empty(0)
        arrays[f"{name}_ids"] = joined.astype(np.int32)
    arrays["word_df"] = np.bincount(arrays["word_ids"], minlength=len(vocabulary))
    return arrays


def _starts(sorted_groups: NDArray[Any], count: int) -> Integers:
    return np.searchsorted(sorted_groups, np.arange(count + 1)).astype(np.int64)


def _documents(
    corpus: Corpus, ids: Sequence[str], places: Places | None
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    if places is None:
        places = {
            id: (number, position)
            for number, source in enumerate(merge_passages(corpus[id] for id in ids))
            for position, id in enumerate(source.passages)
        }
    found = np.array([places[id] for id in ids], np.int32).reshape(-1, 2)
    return found[:, 0], found[:, 1]
