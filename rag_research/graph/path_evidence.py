"""How candidate passages meet a question: by sentences, words, tokens and names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag_research.graph.corpus_graph import CorpusGraph
from rag_research.graph.path_question import Asked
from rag_research.graph.ragged import among, gather_runs, largest_of_runs, reduce_by_key
from rag_research.graph.title_words import words_present

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]
_LEVELS = 127  # of an eight-bit token


@dataclass(frozen=True, slots=True)
class Evidence:
    """N candidates with S sentences; a question of T tokens and W distinct words.

    Args:
        places: sentences of the corpus graph, candidate by candidate. [S]
        owner: candidate of each. [S]
        sentence_cosine: with the question. [S]
        sentence_length: ``ln(1 + characters)``. [S]
        sentence_asked_idf: IDF of the question's names in it. [S]
        best_sentence: highest cosine of each candidate's sentences. [N]
        words: which words of the question it has. [N, W]
        title_words: which of them its title has. [N, W]
        title_share: share of the title's words, by weight, that the question has. [N]
        matches: highest cosine of each question token to one of its tokens. [N, T]
        excess: ``matches`` above the median of the candidates. [N, T]
        asked_names: number of the question's names it has. [N]
        asked_idf: IDF of those, summed. [N]
        asked_titles: names in the question that are titles of the corpus.
        mention_owner, mention_entity, mention_cosine, mention_sentence: each name of each
            candidate once, with the highest cosine of a sentence that has it, and the first
            such sentence's place among the S. [R] each
    """

    places: Integers
    owner: Integers
    sentence_cosine: Floats
    sentence_length: Floats
    sentence_asked_idf: Floats
    best_sentence: Floats
    words: Floats
    title_words: Floats
    title_share: Floats
    matches: Floats
    excess: Floats
    asked_names: Floats
    asked_idf: Floats
    asked_titles: int
    mention_owner: Integers
    mention_entity: Integers
    mention_cosine: Floats
    mention_sentence: Integers


def gather_evidence(graph: CorpusGraph, asked: Asked, rows: Integers) -> Evidence:
    """Read what the corpus graph holds of some passages against a question.

    Args:
        graph: of the corpus.
        asked: the question.
        rows: N passages.
    """
    tables, arrays = graph.tables, graph.arrays
    count = len(rows)
    places, owner = gather_runs(tables.sentence_start, rows)
    cosine = (
        np.asarray(tables.sentence_vectors.take(places, axis=0), np.float32) @ asked.tokens.vector
    )
    offsets = np.asarray(tables.sentence_offsets[places], np.int64)
    at, mention_owner = gather_runs(arrays["mention_start"], rows)
    entity = np.asarray(arrays["mention_entity"][at], np.int64)
    sentence = np.searchsorted(owner, mention_owner) + (
        np.asarray(arrays["mention_sentence"][at], np.int64)
        - np.asarray(tables.sentence_start[rows], np.int64)[mention_owner]
    )
    of_question = among(entity, asked.entities)
    idf = graph.entity_idf[entity] if len(entity) else np.empty(0, np.float32)
    sentence_idf = np.bincount(
        sentence[of_question], idf[of_question], minlength=len(places)
    ).astype(np.float32)
    size = max(len(arrays["entity_hash"]), 1)
    key, reduced = reduce_by_key(
        mention_owner * size + entity, {"cosine": cosine[sentence], "first": -sentence}
    )
    own, names = key // size, key % size
    asked_here = among(names, asked.entities)
    name_idf = graph.entity_idf[names] if len(names) else np.empty(0, np.float32)
    words = words_present(arrays, "word", asked.numbers, rows)
    title_words = words_present(arrays, "title_word", asked.numbers, rows)
    matches = _token_matches(graph, asked, rows)
    typical = np.median(matches, axis=0) if count else 0.0
    titles = arrays["titled_start"][asked.entities + 1] > arrays["titled_start"][asked.entities]
    return Evidence(
        places=places,
        owner=owner,
        sentence_cosine=cosine,
        sentence_length=np.log1p(offsets[:, 1] - offsets[:, 0]).astype(np.float32),
        sentence_asked_idf=sentence_idf,
        best_sentence=largest_of_runs(cosine[:, None], owner, count)[:, 0],
        words=words,
        title_words=title_words,
        title_share=_title_share(graph, asked, rows),
        matches=matches,
        excess=np.maximum(matches - typical, 0).astype(np.float32),
        asked_names=np.bincount(own[asked_here], minlength=count).astype(np.float32),
        asked_idf=np.bincount(own[asked_here], name_idf[asked_here], minlength=count).astype(
            np.float32
        ),
        asked_titles=int(titles.sum()),
        mention_owner=own,
        mention_entity=names,
        mention_cosine=reduced["cosine"],
        mention_sentence=-reduced["first"],
    )


def _title_share(graph: CorpusGraph, asked: Asked, rows: Integers) -> Floats:
    at, owner = gather_runs(graph.arrays["title_word_start"], rows)
    ids = np.asarray(graph.arrays["title_word_ids"][at], np.int64)
    idf = graph.word_idf(ids) * among(ids, np.sort(asked.numbers))
    asked_part = np.bincount(owner, idf, minlength=len(rows)).astype(np.float32)
    share: Floats = asked_part / graph.title_weight[rows].clip(1e-6)
    return share


def _token_matches(graph: CorpusGraph, asked: Asked, rows: Integers) -> Floats:
    """Cosines of the question's tokens, rounded to eight bits as those of the corpus are."""
    import torch  # NumPy has no product of eight-bit integers

    tables = graph.tables
    at, owner = gather_runs(tables.token_start, rows)
    query = np.rint(asked.tokens.projected * _LEVELS).astype(np.int8)
    if not query.size or not len(at):
        return np.full((len(rows), len(query)), -1, np.float32)
    product = torch._int_mm(
        torch.from_numpy(tables.tokens.take(at, axis=0)), torch.from_numpy(query).T
    )
    matches = largest_of_runs(product.numpy(), owner, len(rows), empty=-(_LEVELS**2))
    matches /= _LEVELS**2
    return matches
