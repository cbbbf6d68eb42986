"""Titles that a passage spells in part: where a name stands in another form, its words still meet.

A text that says "Nathan H. Juran" names the passage titled "Nathan Juran", one that says "Vivaldi"
most likely the one titled "Antonio Vivaldi". How much of a title a passage has, weighted by the
rarity of the words, says how far to trust it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rag_research.graph.corpus_arrays import Arrays
from rag_research.graph.corpus_graph import CorpusGraph
from rag_research.graph.ragged import among, gather_runs, ranks_in_groups, reduce_by_key

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]

COVERED = 0.5  # share of a title, by weight, that counts as naming it
TITLE_HUB = 40  # words of more titles lead nowhere


class TitleCover(NamedTuple):
    """Titles of N candidates against the texts of all, ``[text, title]``.

    Args:
        share: share of the title, by weight, whose words the text has. [N, N]
        fresh: the same for words that the question lacks. [N, N]
        weight: IDF of those words, summed. [N, N]
    """

    share: Floats
    fresh: Floats
    weight: Floats


def title_cover(graph: CorpusGraph, asked_words: Integers, rows: Integers) -> TitleCover:
    """How much of each candidate's title each candidate's text has.

    Args:
        graph: of the corpus.
        asked_words: numbers of the question's words, ascending.
        rows: N candidates.
    """
    at, owner = gather_runs(graph.arrays["title_word_start"], rows)
    ids = np.asarray(graph.arrays["title_word_ids"][at], np.int64)
    words, column = np.unique(ids, return_inverse=True)
    titles = np.zeros((len(words), len(rows)), np.float32)
    titles[column, owner] = graph.word_idf(ids)
    texts = words_present(graph.arrays, "word", words, rows)
    whole = graph.title_weight[rows].clip(1e-6)
    weight = texts @ (titles * ~among(words, asked_words)[:, None])
    return TitleCover(texts @ titles / whole, weight / whole, weight)


def words_present(arrays: Arrays, kind: str, words: Integers, rows: Integers) -> Floats:
    """Which of some words each passage has.

    Args:
        arrays: of the corpus graph.
        kind: ``word``, in its contents, or ``title_word``.
        words: W distinct numbers in any order, -1 for a word the corpus lacks.
        rows: N passages.

    Shapes:
        [W], [N] -> [N, W]
    """
    found = np.zeros((len(rows), len(words)), np.float32)
    at, owner = gather_runs(arrays[f"{kind}_start"], rows)
    ids = np.asarray(arrays[f"{kind}_ids"][at], np.int64)
    order = np.argsort(words, kind="stable")
    wanted = words[order]
    if len(wanted):
        place = np.minimum(np.searchsorted(wanted, ids), len(wanted) - 1)
        known = (wanted[place] == ids) & (ids >= 0)
        found[owner[known], order[place[known]]] = 1.0
    return found


def titled_in_part(
    graph: CorpusGraph,
    asked_words: Integers,
    front: Integers,
    known: Integers,
    dense: Floats,
    limit: int,
) -> Integers:
    """Passages of whose title a passage in ``front`` has half or more, apart from the question.

    Args:
        graph: of the corpus.
        asked_words: numbers of the question's words, ascending.
        front: passages whose texts are read.
        known: passages that are not wanted, ascending.
        dense: cosine of every passage with the question; decides between equal shares.
        limit: passages for one in ``front``.
    """
    arrays = graph.arrays
    at, owner = gather_runs(arrays["word_start"], front)
    word = np.asarray(arrays["word_ids"][at], np.int64)
    start = arrays["word_titles_start"]
    titles = start[word + 1] - start[word]
    live = (titles > 0) & (titles <= TITLE_HUB) & ~among(word, asked_words)
    owner, word = owner[live], word[live]
    at, group = gather_runs(start, word)
    rows = np.asarray(arrays["word_titles"][at], np.int64)
    key, columns = reduce_by_key(
        owner[group] * len(graph) + rows, {"idf": graph.word_idf(word)[group]}, sums=("idf",)
    )
    owner, rows = np.divmod(key, max(len(graph), 1))
    share = columns["idf"] / np.maximum(graph.title_weight[rows], 1e-6)
    kept = (share >= COVERED) & ~among(rows, known)
    owner, rows, share = owner[kept], rows[kept], share[kept]
    return rows[ranks_in_groups(owner, share + 0.01 * dense[rows]) < limit]
