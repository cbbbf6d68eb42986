"""Titles and texts of the passages that traces name, from the data set of the runs."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rag_research.config.build import build
from rag_research.corpus.corpus import Corpus
from rag_research.errors import RagResearchError
from rag_research.evaluation.results import Results
from rag_research.registry import DATASETS

_log = logging.getLogger(__name__)


class Passages:
    """What is known of passages.

    Args:
        corpus: of the runs; ``None`` when it could not be had.
    """

    def __init__(self, corpus: Corpus | None) -> None:
        self.corpus = corpus

    def __call__(self, ids: Iterable[str]) -> dict[str, dict[str, str]]:
        """Title and text by id, of those ids that the corpus has."""
        if self.corpus is None:
            return {}
        found = (self.corpus[id] for id in ids if id in self.corpus)
        return {p.id: {"title": p.title, "text": p.text} for p in found}


def passages_of(runs: Sequence[Results]) -> Passages:
    """The passages the runs were asked over.

    A report is worth having without them, so a data set that is gone, or has changed since, is
    told in a warning and left out.

    Args:
        runs: on one data set.
    """
    told = runs[0].provenance
    config = told.get("config", {}).get("dataset", {})
    try:
        corpus = _load(config)
    except (RagResearchError, OSError) as error:
        _log.warning("Passages are shown by id alone: %s", error)
        return Passages(None)
    if corpus.fingerprint != told.get("dataset", {}).get("corpus_fingerprint"):
        _log.warning("Passages are shown by id alone: the data set has changed since the run.")
        return Passages(None)
    return Passages(corpus)


def _load(config: Mapping[str, Any]) -> Corpus:
    loader = DATASETS.get(str(config.get("name")))
    values = {key: value for key, value in config.items() if key != "name"}
    corpus: Corpus = loader(build(loader.Config, values)).load().corpus
    return corpus
