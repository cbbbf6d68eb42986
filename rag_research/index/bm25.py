"""Lexical retrieval with BM25, scored ahead of time by bm25s."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_research.errors import ArtifactError
from rag_research.index.dense import check_ids, texts_fingerprint
from rag_research.index.lexical_tokens import tokenizer
from rag_research.index.selection import Rows, Scores, top_hits
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.types import Hit

STAGE = "bm25-index"
VERSION = 2


@dataclass(frozen=True, slots=True)
class BM25Config:
    """Args:
    k1: how soon repeats of a word stop counting.
    b: how much long texts are discounted, 0 to 1.
    stemmer: Snowball language such as ``english``. Off by default: on HotpotQA stemming
        adds three points of recall@5, on MuSiQue and 2Wiki nothing.
    stop_words: drop English function words.
    """

    k1: float = 1.5
    b: float = 0.75
    stemmer: str | None = None
    stop_words: bool = True


class BM25Retriever:
    """Ranks texts by the summed BM25 weights of the query's words.

    ``score(q, d) = sum_{w in q} idf(w) tf / (tf + k1 (1 - b + b |d| / avg|d|))`` with
    ``idf(w) = ln(1 + (N - df + 0.5) / (df + 0.5))``. A word asked twice counts twice.

    Args:
        path: an artefact of :func:`build_bm25`; its arrays are memory-mapped.

    Raises:
        ArtifactError: the artefact's files are damaged.

    Source: Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009, in the
    variant of Lucene.
    """

    def __init__(self, path: Path) -> None:
        try:
            settings = json.loads((path / "settings.json").read_text(encoding="utf-8"))
            self.ids: list[str] = json.loads((path / "ids.json").read_text(encoding="utf-8"))
            self._index = _load(path) if settings["words"] else None
        except (OSError, ValueError, KeyError) as error:
            raise ArtifactError(
                f"{path} is no readable BM25 index ({error!r}). Delete it and build again."
            ) from error
        self._tokens = tokenizer(settings["stemmer"], settings["stop_words"])

    def __len__(self) -> int:
        return len(self.ids)

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Rank the texts that share a word with each query.

        A query without a known word gives an empty list; texts that share no word are never
        hits, so there may be fewer than ``k``. See :class:`rag_research.index.base.Retriever`.
        """
        if self._index is None or k <= 0:
            return [[] for _ in queries]
        return [self._search(self._index, query, k) for query in queries]

    def _search(self, index: Any, query: str, k: int) -> list[Hit]:
        words = [index.vocab_dict[w] for w in self._tokens(query) if w in index.vocab_dict]
        if not words:
            return []
        rows, scores = _sum_postings(index.scores, Counter(words))

        def best(_: NDArray[np.intp], m: int) -> tuple[Scores, Rows]:
            if m < len(rows):
                kept = np.argpartition(-scores, m - 1)[:m]
                kept = kept[np.argsort(-scores[kept], kind="stable")]
                return scores[kept][None], rows[kept][None]
            order = np.argsort(-scores, kind="stable")
            return scores[order][None], rows[order][None]

        return top_hits(best, self.ids, 1, k)[0]


def build_bm25(
    name: str,
    ids: Sequence[str],
    texts: Sequence[str],
    store: ArtifactStore,
    config: BM25Config | None = None,
) -> BM25Retriever:
    """Build, or find in ``store``, a BM25 index over texts.

    A million passages of 100 words take about 0.6 GB on disk, memory-mapped when searched;
    building needs about 4 GB.

    Args:
        name: what is indexed (``"passages"``).
        ids: N unique ids.
        texts: N texts.
        store: where the index is kept.
        config: ``None`` is the default setting.
    """
    check_ids(name, ids, texts)
    config = config or BM25Config()

    def write(directory: Path) -> Mapping[str, int]:
        (directory / "ids.json").write_text(json.dumps(list(ids)), encoding="utf-8")
        words = _write(directory, texts, config)
        settings = {"stemmer": config.stemmer, "stop_words": config.stop_words, "words": words}
        (directory / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
        return {"texts": len(texts), "words": words}

    inputs = {"name": name, "texts": texts_fingerprint(ids, texts), "config": config}
    return BM25Retriever(store.ensure(STAGE, VERSION, inputs, write).path)


def _write(directory: Path, texts: Sequence[str], config: BM25Config) -> int:
    """Index the texts; the number of different words, 0 when nothing was written."""
    bm25s = _bm25s()
    tokens = tokenizer(config.stemmer, config.stop_words)
    vocabulary: dict[str, int] = {}
    rows = [[vocabulary.setdefault(w, len(vocabulary)) for w in tokens(text)] for text in texts]
    if not vocabulary:
        return 0
    index = bm25s.BM25(k1=config.k1, b=config.b, method="lucene", backend="numpy")
    index.index((rows, vocabulary), show_progress=False)
    index.save(str(directory), show_progress=False)
    return len(vocabulary)


def _load(path: Path) -> Any:
    return _bm25s().BM25.load(str(path), mmap=True, show_progress=False)


def _bm25s() -> Any:
    """The library, without the debugging lines it prints by default."""
    import bm25s

    logging.getLogger("bm25s").setLevel(logging.WARNING)
    return bm25s


def _sum_postings(matrix: Mapping[str, Any], words: Counter[int]) -> tuple[Rows, Scores]:
    """Rows that hold any of the words, ascending, and their scores."""
    starts = matrix["indptr"]
    rows, parts = [], []
    for word, count in words.items():
        span = slice(int(starts[word]), int(starts[word + 1]))
        rows.append(matrix["indices"][span])
        parts.append(matrix["data"][span] * np.float32(count))
    total = np.zeros(int(matrix["num_docs"]), dtype=np.float32)
    for place, part in zip(rows, parts, strict=True):
        total[place] += part  # a row stands once in a word's postings
    found = np.flatnonzero(total)
    return found.astype(np.int64), total[found]
