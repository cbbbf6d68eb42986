"""What exists, by name. Targets are strings until asked for, so looking costs no import.

A component class carries its configuration class as the attribute ``Config``; the
configuration layer builds that class from the mapping a user wrote (see
:mod:`rag_research.config.build`).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar, cast

from rag_research.errors import ConfigError, UnknownNameError, did_you_mean

T = TypeVar("T")


class Registry(Generic[T]):
    """Names of one kind of component.

    Args:
        kind: what the entries are, for messages (``"system"``).
        targets: name -> ``"package.module:attribute"``, imported on first use.
    """

    def __init__(self, kind: str, targets: Mapping[str, str] | None = None) -> None:
        self.kind = kind
        self._entries: dict[str, T | str] = dict(targets or {})

    def register(self, name: str) -> Callable[[T], T]:
        """Decorator that adds an entry under ``name``.

        Raises:
            ConfigError: the name is taken by something else.
        """

        def add(entry: T) -> T:
            taken = self._entries.get(name)
            target = f"{getattr(entry, '__module__', '')}:{getattr(entry, '__qualname__', '')}"
            if taken is not None and taken is not entry and taken != target:
                raise ConfigError(
                    f"The {self.kind} name {name!r} is taken by {taken!r}. Choose another name."
                )
            self._entries[name] = entry
            return entry

        return add

    def get(self, name: str) -> T:
        """The entry under ``name``, imported if it was lazy.

        Raises:
            UnknownNameError: nothing is registered under that name.
        """
        if name not in self._entries:
            raise UnknownNameError(
                f"There is no {self.kind} named {name!r}.{did_you_mean(name, self._entries)} "
                f"Known: {', '.join(sorted(self._entries))}."
            )
        entry = self._entries[name]
        if isinstance(entry, str):
            module, _, attribute = entry.partition(":")
            entry = cast(T, getattr(importlib.import_module(module), attribute))
            self._entries[name] = entry
        return entry

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._entries))


def _lazy(package: str, **classes: str) -> dict[str, str]:
    return {name: f"rag_research.{package}.{name}:{cls}" for name, cls in classes.items()}


SYSTEMS: Registry[Any] = Registry(
    "system",
    _lazy(
        "systems",
        closed_book="ClosedBook",
        bm25_rag="BM25RAG",
        dense_rag="DenseRAG",
        hybrid_rag="HybridRAG",
        path_rag="PathRAG",
        t2rag="T2RAG",
        threadrag="ThreadRAG",
        tog3="ToG3",
    ),
)
LLMS: Registry[Any] = Registry(
    "llm",
    _lazy(
        "llm",
        transformers_local="TransformersLocal",
        openai_compatible="OpenAICompatible",
        scripted="Scripted",
    ),
)
ENCODERS: Registry[Any] = Registry(
    "encoder",
    _lazy(
        "embed",
        sentence_encoder="SentenceEncoder",
        openai_embeddings="OpenAIEmbeddings",
        hashing="Hashing",
    ),
)
DENSE_INDEXES: Registry[Any] = Registry(
    "dense index", _lazy("index", flat="Flat", ivf="IVF", hnsw="HNSW")
)
RERANKERS: Registry[Any] = Registry(
    "reranker",
    {"none": "rag_research.index.rerank:NoReranker"}
    | {"cross_encoder": "rag_research.index.rerank:CrossEncoder"},
)
EXTRACTORS: Registry[Any] = Registry(
    "triplet extractor",
    _lazy(
        "extract",
        openie="OpenIE",
        chunk_triplets="ChunkTriplets",
        imported="Imported",
        rules="Rules",
    ),
)
SEGMENTERS: Registry[Any] = Registry(
    "segmenter",
    _lazy(
        "extract",
        boundary="Boundary",
        sentences="Sentences",
        fixed="Fixed",
        recursive="Recursive",
    ),
)
ENTITY_FINDERS: Registry[Any] = Registry(
    "entity finder",
    _lazy("extract", capitalised="Capitalised", named_entities="NamedEntities"),
)
SELECTORS: Registry[Any] = Registry(
    "selector",
    {
        name: f"rag_research.graph.selectors:{cls}"
        for name, cls in {
            "threshold": "Threshold",
            "relative": "Relative",
            "top_energy": "TopEnergy",
            "token_budget": "TokenBudget",
            "learned": "Learned",
            "random": "RandomSpans",
            "none": "KeepAll",
        }.items()
    },
)
DATASETS: Registry[Any] = Registry(
    "dataset",
    _lazy(
        "corpus",
        jsonl="JsonLines",
        folder="Folder",
        hotpotqa="HotpotQA",
        two_wiki="TwoWiki",
        musique="MuSiQue",
        popqa="PopQA",
        ultradomain="UltraDomain",
        hipporag="HippoRAG",
        hub="Hub",
        sample_world="SampleWorld",
    ),
)
METRICS: Registry[Any] = Registry(
    "metric",
    {
        name: f"rag_research.evaluation.metrics.{name}:{name}"
        for name in (
            "exact_match",
            "substring_match",
            "token_f1",
            "answer_length",
            "recall_at_k",
            "full_chain_recall_at_k",
        )
    },
)
