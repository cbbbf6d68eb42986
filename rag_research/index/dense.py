"""Dense retrieval: texts -> vectors -> an index artefact -> a retriever."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rag_research.config.build import build, to_dict
from rag_research.embed.base import Encoder, Vectors
from rag_research.embed.store import EmbeddingStore
from rag_research.errors import ArtifactError, ConfigError
from rag_research.index.faiss_searcher import faiss_module
from rag_research.index.selection import Rows, Scores, top_hits
from rag_research.registry import DENSE_INDEXES
from rag_research.runtime.artifacts import MANIFEST, ArtifactStore
from rag_research.types import Hit

STAGE = "dense-index"
VERSION = 1
_QUERY_BATCH = 256


class Searcher(Protocol):
    """A loaded index that can be asked."""

    def top(self, queries: Vectors, m: int) -> tuple[Scores, Rows]:
        """[B, D] -> scores [B, m] in falling order, rows [B, m], row -1 where there are fewer."""
        ...


class DenseKind(Protocol):
    """One kind of dense index; see ``DENSE_INDEXES``."""

    def build(self, vectors: Vectors) -> Any: ...

    def searcher(self, index: Any) -> Searcher: ...


class DenseRetriever:
    """Ranks texts by the inner product of unit vectors.

    Args:
        ids: id of each of the N rows.
        encoder: encodes the queries; must be the one that encoded the texts.
        searcher: ``None`` when there are no rows.
    """

    def __init__(self, ids: Sequence[str], encoder: Encoder, searcher: Searcher | None) -> None:
        self.ids = list(ids)
        self.encoder = encoder
        self._searcher = searcher

    def __len__(self) -> int:
        return len(self.ids)

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Rank all texts for each query; see :class:`rag_research.index.base.Retriever`."""
        if not queries or not self.ids or k <= 0:
            return [[] for _ in queries]
        return self.search_vectors(self.encoder.encode(list(queries), "query"), k)

    def search_vectors(self, queries: Vectors, k: int) -> list[list[Hit]]:
        """The same for query vectors [B, D] that are already there."""
        searcher = self._searcher
        if searcher is None:
            return [[] for _ in queries]
        hits: list[list[Hit]] = []
        for start in range(0, len(queries), _QUERY_BATCH):
            batch = np.ascontiguousarray(queries[start : start + _QUERY_BATCH], np.float32)
            hits += self._top(searcher, batch, k)
        return hits

    def _top(self, searcher: Searcher, queries: Vectors, k: int) -> list[list[Hit]]:
        def candidates(which: NDArray[np.intp], m: int) -> tuple[Scores, Rows]:
            return searcher.top(queries[which], m)

        return top_hits(candidates, self.ids, len(queries), k)


def build_dense(
    config: Any,
    name: str,
    ids: Sequence[str],
    texts: Sequence[str],
    encoder: Encoder,
    store: ArtifactStore,
) -> DenseRetriever:
    """Build, or find in ``store``, a dense index over texts.

    Vectors come from the store's :class:`EmbeddingStore`, so texts that were encoded before,
    for this index or another, are not encoded again. Besides those vectors the index file
    takes 1.54 GB per million texts at 384 dimensions (HNSW 0.26 GB more), and the same in
    memory while it is loaded.

    Args:
        config: the configuration of an entry of ``DENSE_INDEXES``; ``None`` is ``flat``.
        name: what is indexed (``"passages"``); names the progress bar and the artefact.
        ids: N unique ids.
        texts: N texts.
        encoder: for texts (role passage) and later for queries (role query).
        store: where vectors and index are kept.

    Raises:
        ArtifactError: the store is read-only and holds no such index; the message says which
            input differs, for example the encoder.
    """
    check_ids(name, ids, texts)
    kind_config = config if config is not None else DENSE_INDEXES.get("flat").Config()
    kind: DenseKind = DENSE_INDEXES.get(kind_config.name)(kind_config)

    def write(directory: Path) -> Mapping[str, int]:
        (directory / "ids.json").write_text(json.dumps(list(ids)), encoding="utf-8")
        embeddings = EmbeddingStore(store.root, encoder)
        vectors = embeddings.vectors(texts, label=f"encode {name}")
        if len(vectors):
            faiss = faiss_module()

            faiss.write_index(kind.build(vectors), str(directory / "index.faiss"))
        return {"vectors": len(vectors), "dimension": encoder.dimension}

    inputs = {
        "name": name,
        "texts": texts_fingerprint(ids, texts),
        "encoder": dict(encoder.identity),
        "index": to_dict(kind_config, with_inert=False),
    }
    artifact = store.ensure(STAGE, VERSION, inputs, write)
    return _open(artifact.path, kind, encoder)


def load_dense(path: Path, encoder: Encoder, config: Any = None) -> DenseRetriever:
    """Open a stored index without its texts.

    Args:
        path: the artefact's directory.
        encoder: must be the one that built it.
        config: another configuration of the same kind, to change inert settings.

    Raises:
        ArtifactError: the directory holds no index, or one of another encoder or dimension.
    """
    if not (path / MANIFEST).is_file():
        raise ArtifactError(f"{path} holds no finished {STAGE}. Build it with build_dense.")
    manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    stored, present = manifest["inputs"]["encoder"], dict(encoder.identity)
    for key in sorted(stored.keys() | present.keys()):
        if stored.get(key) != present.get(key):
            raise ArtifactError(
                f"{path} was built with another encoder: its {key} is {stored.get(key)!r}, the "
                f"present encoder's is {present.get(key)!r}. Use the encoder it was built with, "
                "or build the index again."
            )
    settings = manifest["inputs"]["index"]
    cls = DENSE_INDEXES.get(settings["name"])
    kind_config = config if config is not None else build(cls.Config, settings, "dense")
    return _open(path, cls(kind_config), encoder)


def texts_fingerprint(ids: Sequence[str], texts: Sequence[str]) -> str:
    """Sixteen hex digits over ids and texts, in order."""
    digest = hashlib.sha256()
    for id, text in zip(ids, texts, strict=True):
        digest.update(json.dumps([id, text]).encode())
    return digest.hexdigest()[:16]


def check_ids(name: str, ids: Sequence[str], texts: Sequence[str]) -> None:
    """Refuse ids that do not fit the texts.

    Args:
        name: what is indexed, for messages.
        ids: N ids.
        texts: N texts.

    Raises:
        ConfigError: another number of ids than texts, or an id that occurs twice.
    """
    if len(ids) != len(texts):
        raise ConfigError(f"{name}: got {len(ids)} ids for {len(texts)} texts.")
    if len(set(ids)) != len(ids):
        seen: set[str] = set()
        twice = next(id for id in ids if id in seen or seen.add(id))  # type: ignore[func-returns-value]
        raise ConfigError(f"{name}: the id {twice!r} occurs twice. Ids must be unique.")


def _open(path: Path, kind: DenseKind, encoder: Encoder) -> DenseRetriever:
    try:
        ids = json.loads((path / "ids.json").read_text(encoding="utf-8"))
        if not ids:
            return DenseRetriever(ids, encoder, None)
        index = faiss_module().read_index(str(path / "index.faiss"))
    except (RuntimeError, OSError, ValueError) as error:
        raise ArtifactError(f"{path} is damaged ({error}). Delete it and build again.") from error
    if index.d != encoder.dimension or index.ntotal != len(ids):
        raise ArtifactError(
            f"{path} holds {index.ntotal} vectors of dimension {index.d}, expected {len(ids)} of "
            f"dimension {encoder.dimension}. Use the encoder it was built with, or delete it and "
            "build again."
        )
    return DenseRetriever(ids, encoder, kind.searcher(index))
