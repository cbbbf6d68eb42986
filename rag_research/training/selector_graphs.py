"""Candidate graphs of training questions with labels, made as in retrieval and kept on disk."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rag_research.config.fingerprint import fingerprint
from rag_research.corpus.corpus import Corpus
from rag_research.graph.corpus_graph import VERSION as GRAPH_VERSION
from rag_research.graph.corpus_graph import CorpusGraph
from rag_research.graph.path_candidates import CandidateConfig
from rag_research.graph.path_data import PathData, PathLabels, path_data
from rag_research.graph.path_features import VERSION as FEATURE_VERSION
from rag_research.graph.path_features import PathGraph
from rag_research.graph.path_retriever import build_candidate_graphs
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.runtime.progress import progress
from rag_research.training.selector_questions import TrainingQuestion
from rag_research.types import Passage

VERSION = 1


def candidate_graphs(
    questions: Sequence[TrainingQuestion],
    passages: Sequence[Passage],
    encoder: Any,
    candidates: CandidateConfig,
    store: Path,
    cache: Path,
) -> dict[str, PathData]:
    """Make, or find in ``cache``, the labelled candidate graph of each question.

    Args:
        questions: of one data set.
        passages: they are searched in.
        encoder: frozen; one that shows its tokens.
        candidates: how far the graphs reach.
        store: folder of the encoder's states and of the indexes.
        cache: folder of the graphs; a change of anything that matters makes another file.

    Returns:
        By question id; nothing is read where there is no question.
    """
    if not questions:
        return {}
    corpus = Corpus(passages)
    versions = (VERSION, GRAPH_VERSION, FEATURE_VERSION)
    told = [
        [q.id, q.text, list(q.gold), dict(q.hops), {k: list(v) for k, v in q.support.items()}]
        for q in questions
    ]
    inputs = (dict(encoder.identity), candidates, corpus.fingerprint, told)
    path = cache / f"{fingerprint(versions, *inputs)}.pt"
    if not path.exists():
        graphs = _make(questions, corpus, encoder, candidates, ArtifactStore(store))
        cache.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}")
        torch.save(graphs, draft)
        draft.replace(path)
    kept: Mapping[str, Mapping[str, Tensor]] = torch.load(path, weights_only=True, mmap=True)
    return {id: PathData(**tensors) for id, tensors in kept.items()}


def _make(
    questions: Sequence[TrainingQuestion],
    corpus: Corpus,
    encoder: Any,
    candidates: CandidateConfig,
    store: ArtifactStore,
) -> dict[str, dict[str, Tensor]]:
    source = build_candidate_graphs(corpus, encoder, store, candidates)
    read = source.read([q.text for q in questions])
    made: dict[str, dict[str, Tensor]] = {}
    with progress("find candidates", len(questions)) as advance:
        for question, tokens in zip(questions, read, strict=True):
            path = source.candidates(question.text, tokens)
            labels = path_labels(question, corpus, source.graph, path)
            made[question.id] = path_data(path, labels).to_dict()
            advance()
    return made


def path_labels(
    question: TrainingQuestion, corpus: Corpus, graph: CorpusGraph, path: PathGraph
) -> PathLabels:
    """What is known of a question's candidates.

    Args:
        question: with gold passages, hops and supporting texts.
        corpus: it is asked of.
        graph: of the same corpus.
        path: its candidates.
    """
    ids = [graph.ids[row] for row in path.rows.tolist()]
    gold = np.array([id in question.gold for id in ids], np.float32)
    hops = [question.hops.get(id, -1) for id in ids]
    sentences = np.zeros(len(path.sentence_owner), np.float32)
    for place, id in enumerate(ids):
        own = np.flatnonzero(path.sentence_owner == place) if id in question.support else ()
        if len(own):
            offsets = np.asarray(graph.tables.sentence_offsets[path.sentence_rows[own]])
            head = corpus[id].text_start
            support = [(a + head, b + head) for a, b in question.support[id]]
            sentences[own] = _overlapping(offsets, support)
    missed = len(set(question.gold).difference(ids))
    return PathLabels(gold, np.array(hops, np.int64), sentences, missed)


def _overlapping(
    offsets: NDArray[np.int32], ranges: Sequence[tuple[int, int]]
) -> NDArray[np.bool_]:
    """Which offsets share a character with one of the ranges."""
    found = np.zeros(len(offsets), bool)
    for start, end in ranges:
        found |= (offsets[:, 0] < end) & (offsets[:, 1] > start)
    return found
