"""The corpus-wide topology graph: passages, sentences, tokens, and who names whom.

Built once, offline, without a language model. Candidate graphs of questions are cut out of it.
Everything is an array on disk, memory-mapped; per million passages of 110 tokens at D = 384
that is about 14 GB of tokens, 3 GB of sentence vectors, 1.5 GB of vectors, 2 GB of vectors of
names and 1 GB of names. Vectors of names lie in memory when they were stored in another order,
as for a corpus that grew (see :class:`rag_research.embed.store.EmbeddingStore`).
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

from rag_research.config.fingerprint import fingerprint
from rag_research.corpus.corpus import Corpus
from rag_research.embed.base import Vectors
from rag_research.embed.store import EmbeddingStore
from rag_research.embed.token_store import TokenStore, TokenTables
from rag_research.errors import ArtifactError
from rag_research.graph.corpus_arrays import Arrays, Integers, Places, corpus_arrays
from rag_research.graph.corpus_entities import STOP_WORDS, NameDictionary, key_hash, name_key
from rag_research.index.dense import texts_fingerprint
from rag_research.runtime.artifacts import Artifact, ArtifactStore

STAGE = "corpus-graph"
VERSION = 6
STOP_WORD_WEIGHT = 0.1
LONGEST_NAME = 8  # in words, where only the words can tell that it is one


@dataclass(frozen=True)
class CorpusGraph:
    """N passages in the order of their ids, so no result depends on the order in a file.

    Args:
        ids: of the passages, sorted.
        tables: vectors, sentences and tokens, see :class:`TokenTables`.
        arrays: names and words, see :func:`corpus_arrays`.
        bridges: unit vectors of the names that two or more passages have. [B, D]
    """

    ids: tuple[str, ...]
    tables: TokenTables
    arrays: Arrays
    bridges: Vectors

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def rows(self) -> Mapping[str, int]:
        """Row of each passage id."""
        return {id: row for row, id in enumerate(self.ids)}

    @cached_property
    def names(self) -> NameDictionary:
        """Finds titles of the corpus in a question."""
        return NameDictionary(_strings(self.arrays["titles"], self.arrays["titles_start"]))

    @cached_property
    def entity_idf(self) -> NDArray[np.float32]:
        """``ln(N / df)`` of each entity. [K]"""
        df = np.diff(self.arrays["entity_start"])
        return np.log(len(self) / np.maximum(df, 1)).astype(np.float32)

    @cached_property
    def bridge_of(self) -> Integers:
        """Row of each entity in ``bridges``, -1 without one. [K]"""
        rows = np.full(len(self.arrays["entity_hash"]), -1, np.int64)
        rows[self.arrays["bridge_entity"]] = np.arange(len(self.arrays["bridge_entity"]))
        return rows

    @cached_property
    def title_named(self) -> Integers:
        """How many passages name, or have, each passage's title; 0 without one. [N]"""
        return _sizes(self.arrays["entity_start"], self.arrays["title_entity"])

    @cached_property
    def title_shared(self) -> Integers:
        """How many passages have each passage's title; 0 without one. [N]"""
        return _sizes(self.arrays["titled_start"], self.arrays["title_entity"])

    @cached_property
    def title_weight(self) -> NDArray[np.float32]:
        """IDF of the words of each passage's title, summed. [N]"""
        start, ids = self.arrays["title_word_start"], self.arrays["title_word_ids"]
        owner = np.repeat(np.arange(len(self)), np.diff(start))
        return np.bincount(owner, self.word_idf(ids), minlength=len(self)).astype(np.float32)

    def word_idf(self, numbers: Integers) -> NDArray[np.float32]:
        """IDF of words by their numbers, as BM25 has it.

        Shapes:
            [W] -> [W]
        """
        df = self.arrays["word_df"][numbers]
        return np.log1p((len(self) - df + 0.5) / (df + 0.5)).astype(np.float32)

    def entities_of(self, keys: Iterable[str]) -> Integers:
        """Entity numbers of keys; unknown ones are left out."""
        return _found(self.arrays["entity_hash"], keys)[1]

    def entities_in(self, words: Sequence[str]) -> Integers:
        """Entity numbers of the names in a text whose letters do not tell which they are.

        A known name of several words is one. A single word is one where at least half of the
        passages that have it name it. Of those that overlap the first and longest counts.

        Args:
            words: of the text, folded, in order.
        """
        runs = [
            (at, end)
            for at in range(len(words))
            for end in range(min(at + LONGEST_NAME, len(words)), at, -1)
        ]
        keys = (name_key(words[at:end]) for at, end in runs)
        known, entities = _found(self.arrays["entity_hash"], keys)
        named = _sizes(self.arrays["entity_start"], entities)
        df = np.append(self.arrays["word_df"], 0)[self.words_of(words)[0]]
        found: list[int] = []
        last = 0
        for run, entity, count in zip(known.tolist(), entities.tolist(), named, strict=True):
            at, end = runs[run]
            telling = [place for place in range(at, end) if words[place] not in STOP_WORDS]
            if at < last or not telling:
                continue
            if len(telling) > 1 or 2 * count >= df[telling[0]]:
                found.append(entity)
                last = end
        return np.array(found, np.int64)

    def words_of(self, words: Sequence[str]) -> tuple[Integers, NDArray[np.float32]]:
        """Word number (-1 where unknown) and weight of each word: its IDF, little for a stop word.

        Shapes:
            [W] -> [W], [W]
        """
        numbers = np.full(len(words), -1, np.int64)
        at, found = _found(self.arrays["word_hash"], words)
        numbers[at] = found
        unknown = np.log1p((len(self) + 0.5) / 0.5)
        idf = np.full(len(words), unknown, np.float32)
        idf[at] = self.word_idf(found)
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
    read = TokenStore(store.root, encoder, read_only=store.read_only)
    tables = read.tables(texts, heads=heads, label="encode passages")

    def write(directory: Path) -> Mapping[str, int]:
        arrays = corpus_arrays(corpus, ids, tables, places)
        for name, array in arrays.items():
            np.save(directory / f"{name}.npy", array, allow_pickle=False)
        counts = {"passages": len(ids), "entities": len(arrays["entity_hash"])}
        return counts | {"arrays": len(arrays)}

    inputs = {
        "places": places and fingerprint([places[id] for id in ids]),
        "texts": texts_fingerprint(ids, texts),
        "titles": texts_fingerprint(ids, [p.title for p in passages]),
    }
    artifact = store.ensure(STAGE, VERSION, inputs, write)
    arrays = _load(artifact)
    tables = TokenTables(*(_mapped(getattr(tables, field.name)) for field in fields(tables)))
    names = list(_strings(arrays["bridge_letters"], arrays["bridge_start"]))
    stored = EmbeddingStore(store.root, encoder, read_only=store.read_only)
    bridges = stored.vectors(names, label="encode names")
    return CorpusGraph(ids, tables, arrays, bridges)


def _load(artifact: Artifact) -> Arrays:
    files = sorted(artifact.path.glob("*.npy"))
    wanted = artifact.manifest["counts"]["arrays"]
    try:
        arrays = {path.stem: _mapped(np.load(path, mmap_mode="r")) for path in files}
    except (OSError, ValueError) as error:
        raise _damaged(artifact, str(error)) from error
    if len(arrays) != wanted:
        raise _damaged(artifact, f"{len(arrays)} arrays, expected {wanted}")
    return arrays


def _damaged(artifact: Artifact, how: str) -> ArtifactError:
    return ArtifactError(f"{artifact.path} is damaged ({how}). Delete it and build again.")


def _strings(letters: NDArray[Any], start: NDArray[Any]) -> Iterable[str]:
    whole = letters.tobytes()
    return (whole[a:b].decode() for a, b in pairwise(start.tolist()))


def _mapped(array: NDArray[Any]) -> NDArray[Any]:
    """The same memory as a plain array: each use of a ``memmap`` costs microseconds more."""
    return np.asarray(array)
