"""Names and words of a corpus as flat arrays, read one passage at a time.

Strings do not outlive their passage: what is kept of a name or a word is its hash, so a million
passages cost about a hundred numbers each.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_research.corpus.corpus import Corpus
from rag_research.embed.token_store import TokenTables
from rag_research.extract.spans import merge_passages
from rag_research.graph.corpus_entities import (
    NameDictionary,
    folded_words,
    key_hash,
    leading_name,
    named,
    title_key,
)
from rag_research.runtime.progress import progress

Integers = NDArray[np.int64]
Hashes = NDArray[np.uint64]
Arrays = Mapping[str, NDArray[Any]]
Places = Mapping[str, tuple[int, int]]

_REMEMBERED = 1 << 20  # hashes of recent words
_LOOK_UP = 1 << 22  # words numbered at a time


def corpus_arrays(
    corpus: Corpus, ids: Sequence[str], tables: TokenTables, places: Places | None = None
) -> Arrays:
    """Names and words of passages as arrays.

    Args:
        corpus: the passages.
        ids: their order.
        tables: sentences of the same passages in the same order.
        places: number of each passage's document, and its place there; found from ids such as
            ``NAME#2`` when left out.

    Returns:
        For K entities, R mentions (each entity once a sentence), V words:
        ``titles`` and ``titles_start`` [N + 1]: the titles in UTF-8, joined;
        ``entity_hash`` [K], sorted; ``entity_start`` [K + 1] and ``entity_passages``: the
        passages that name each entity, or have it as their title;
        ``bridge_entity`` [B]: the entities of two or more passages, ascending, and
        ``bridge_letters``, ``bridge_start`` [B + 1]: their keys in UTF-8, joined;
        ``title_entity`` [N], of a passage without a title the name its text starts with
        (:func:`leading_name`), -1 without that; ``titled_start`` [K + 1] and
        ``titled_passages``: the passages of each title;
        ``mention_start`` [N + 1], ``mention_entity`` [R], ``mention_sentence`` [R];
        ``word_hash`` [V], sorted; ``word_df`` [V]; ``word_start`` [N + 1] and ``word_ids``: the
        words of each passage, each once; ``title_word_start``, ``title_word_ids`` likewise;
        ``word_titles_start`` [V + 1] and ``word_titles``: the passages whose title has a word;
        ``length`` [N] in words; ``document`` [N] and ``position`` [N]: which document a passage
        is a chunk of, and its place there.
    """
    names = NameDictionary(corpus[id].title for id in ids)
    hashed = lru_cache(_REMEMBERED)(key_hash)
    words, title_words, mentions = _Rows(), _Rows(), _Rows()
    sentences, lengths, titles = array("q"), array("i"), array("q")
    title_hashes, keys = array("Q"), _Letters()
    with progress("find names", len(ids)) as advance:
        for row, id in enumerate(ids):
            passage = corpus[id]
            title = title_key(passage.title) or leading_name(passage.text)
            first, last = tables.sentence_start[row], tables.sentence_start[row + 1]
            starts = np.asarray(tables.sentence_offsets[first:last, 0])
            found = _mentions(passage.contents, names, starts, int(first), title)
            mentions.add(hashed(key) for key, _ in found)
            keys.extend(key for key, _ in found)
            sentences.extend(sentence for _, sentence in found)
            own = [word for word, _, _ in folded_words(passage.contents)]
            words.add(sorted({hashed(word) for word in own}))
            title_words.add(sorted({hashed(word) for word in title.split()}))
            lengths.append(len(own))
            if title:
                titles.append(row)
                title_hashes.append(hashed(title))
            advance()
    titled = np.frombuffer(titles, np.int64), np.frombuffer(title_hashes, np.uint64)
    arrays = _entity_arrays(mentions, *titled, len(ids))
    arrays["mention_sentence"] = np.array(sentences, np.int64)
    arrays |= _bridges(arrays, keys) | _word_arrays(words, title_words)
    arrays["length"] = np.array(lengths, np.int32)
    return arrays | _title_letters(corpus, ids) | _documents(corpus, ids, places)


def _title_letters(corpus: Corpus, ids: Sequence[str]) -> dict[str, NDArray[Any]]:
    titles = [corpus[id].title.encode("utf-8", "replace") for id in ids]
    letters, start = _joined(titles)
    return {"titles": letters, "titles_start": start}


def _joined(strings: Sequence[bytes]) -> tuple[NDArray[np.uint8], Integers]:
    """Strings as one array, and where each starts, and the end of the last."""
    return np.frombuffer(b"".join(strings), np.uint8), _ends(map(len, strings))


class _Letters:
    """Strings one after another."""

    def __init__(self) -> None:
        self.letters = bytearray()
        self.ends = array("q", [0])

    def extend(self, texts: Iterable[str]) -> None:
        """The next ones."""
        for text in texts:
            self.letters += text.encode("utf-8", "replace")
            self.ends.append(len(self.letters))


def _bridges(arrays: Arrays, keys: _Letters) -> dict[str, NDArray[Any]]:
    """Names that two or more passages have, spelt as where they are mentioned first."""
    bridges = np.flatnonzero(np.diff(arrays["entity_start"]) >= 2)
    entities, first = np.unique(arrays["mention_entity"], return_index=True)
    place = first[np.searchsorted(entities, bridges)].tolist()
    spelt = [bytes(keys.letters[keys.ends[at] : keys.ends[at + 1]]) for at in place]
    letters, start = _joined(spelt)
    return {"bridge_entity": bridges, "bridge_letters": letters, "bridge_start": start}


class _Rows:
    """Hashes of one passage after another."""

    def __init__(self) -> None:
        self._values = array("Q")
        self._ends = array("q", [0])

    def add(self, hashes: Iterable[int]) -> None:
        """Those of the next passage."""
        self._values.extend(hashes)
        self._ends.append(len(self._values))

    @property
    def values(self) -> Hashes:
        """All hashes, in order."""
        return np.frombuffer(self._values, np.uint64)

    @property
    def start(self) -> Integers:
        """Where each row starts, and the end. [N + 1]"""
        return np.array(self._ends, np.int64)


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
    mentions: _Rows, titled: Integers, title_hashes: Hashes, count: int
) -> dict[str, NDArray[Any]]:
    hashes, entity = np.unique(mentions.values, return_inverse=True)
    start = mentions.start
    passage = np.repeat(np.arange(count), np.diff(start))
    # A title is a mention of its passage's first sentence, so its hash is among them.
    title = np.full(count, -1, np.int64)
    title[titled] = np.searchsorted(hashes, title_hashes)
    order = np.argsort(title, kind="stable")
    order = order[title[order] >= 0]
    named_in, passages = np.divmod(np.unique(entity * count + passage), max(count, 1))
    return {
        "entity_hash": hashes,
        "entity_start": _starts(named_in, len(hashes)),
        "entity_passages": passages.astype(np.int32),
        "title_entity": title,
        "titled_start": _starts(title[order], len(hashes)),
        "titled_passages": order.astype(np.int32),
        "mention_start": start,
        "mention_entity": entity.astype(np.int32),
    }


def _word_arrays(words: _Rows, title_words: _Rows) -> dict[str, NDArray[Any]]:
    vocabulary = np.unique(words.values)
    ids = _numbers(vocabulary, words.values)
    title_ids = _numbers(vocabulary, title_words.values)
    known = title_ids >= 0
    kept_before = np.concatenate([[0], np.cumsum(known)])
    start, kept = kept_before[title_words.start], title_ids[known]
    order = np.argsort(kept, kind="stable")
    passage = np.repeat(np.arange(len(start) - 1, dtype=np.int32), np.diff(start))
    return {
        "word_hash": vocabulary,
        "word_start": words.start,
        "word_ids": ids,
        "title_word_start": start,
        "title_word_ids": kept,
        "word_titles_start": _starts(kept[order], len(vocabulary)),
        "word_titles": passage[order],
        "word_df": np.bincount(ids, minlength=len(vocabulary)),
    }


def _numbers(vocabulary: Hashes, hashes: Hashes) -> NDArray[np.int32]:
    """The place of each hash in the vocabulary, -1 where it is not there."""
    numbers = np.full(len(hashes), -1, np.int32)
    if not len(vocabulary):
        return numbers
    for first in range(0, len(hashes), _LOOK_UP):
        part = hashes[first : first + _LOOK_UP]
        place = np.minimum(np.searchsorted(vocabulary, part), len(vocabulary) - 1)
        numbers[first : first + _LOOK_UP] = np.where(vocabulary[place] == part, place, -1)
    return numbers


def _starts(sorted_groups: NDArray[Any], count: int) -> Integers:
    return np.searchsorted(sorted_groups, np.arange(count + 1)).astype(np.int64)


def _ends(sizes: Iterable[int]) -> Integers:
    return np.cumsum(np.fromiter(chain([0], sizes), np.int64))


def _documents(
    corpus: Corpus, ids: Sequence[str], places: Places | None
) -> dict[str, NDArray[Any]]:
    if places is None:
        places = {
            id: (number, position)
            for number, source in enumerate(merge_passages(corpus[id] for id in ids))
            for position, id in enumerate(source.passages)
        }
    found = np.array([places[id] for id in ids], np.int32).reshape(-1, 2)
    return {"document": found[:, 0], "position": found[:, 1]}
