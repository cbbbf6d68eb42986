"""The rerank slot: reorder what was retrieved by reading query and text together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from rag_research.config.build import inert
from rag_research.index.base import ranked
from rag_research.index.pair_scorers import OnnxPairs, PairScorer, TransformersPairs
from rag_research.index.selection import DECIMALS
from rag_research.runtime import onnx
from rag_research.runtime.devices import resolve_device
from rag_research.runtime.weights import resolve_model
from rag_research.types import Hit

Texts = Mapping[str, str] | Callable[[str], str]


class Reranker(Protocol):
    """Reorders the hits of one query."""

    def rerank(self, query: str, hits: Sequence[Hit], texts: Texts, k: int) -> list[Hit]:
        """The best ``k`` of ``hits`` by the reranker's own score.

        Args:
            query: the query the hits were found for.
            hits: candidates; all of them are scored.
            texts: id -> text, as a mapping or a function.
            k: at most this many.
        """
        ...


@dataclass(frozen=True, slots=True)
class NoRerankerConfig:
    """Nothing to set."""

    name: str = "none"


class NoReranker:
    """Keeps the order of retrieval."""

    Config = NoRerankerConfig

    def __init__(self, config: NoRerankerConfig) -> None:
        self.config = config

    def rerank(self, query: str, hits: Sequence[Hit], texts: Texts, k: int) -> list[Hit]:
        """The first ``k`` hits as they are."""
        return list(hits[: max(k, 0)])


@dataclass(frozen=True, slots=True)
class CrossEncoderConfig:
    """Args:
    model: a local folder, a catalogue name or a hub id; a folder with ``model.onnx`` runs
        through onnxruntime, any other through transformers.
    max_tokens: longer pairs are cut here, the longer side first.
    device: of a transformers model; ONNX models run on the CPU.
    threads: CPU threads of one operator.
    """

    name: str = "cross_encoder"
    model: str = "ms-marco-minilm-l12-onnx"
    max_tokens: int = 512
    device: str = inert("auto")
    threads: int = inert(1)

    def __post_init__(self) -> None:
        if self.max_tokens < 8 or self.threads < 1:
            raise ValueError(f"expected max_tokens >= 8 and threads >= 1, got {self}.")


class CrossEncoder:
    """Scores each (query, text) pair with one forward pass of a transformer.

    The score is the model's relevance logit. The model loads at the first call.

    Args:
        config: see :class:`CrossEncoderConfig`.

    Source: Nogueira and Cho, Passage Re-ranking with BERT, 2019.
    """

    Config = CrossEncoderConfig

    def __init__(self, config: CrossEncoderConfig) -> None:
        self.config = config

    @cached_property
    def _scorer(self) -> PairScorer:
        config = self.config
        path = resolve_model(config.model).path
        if (path / onnx.FILE).is_file():
            return OnnxPairs(path, config.max_tokens, config.threads)
        device = resolve_device(config.device)
        return TransformersPairs(path, config.max_tokens, device, config.threads)

    def rerank(self, query: str, hits: Sequence[Hit], texts: Texts, k: int) -> list[Hit]:
        """Score all ``hits`` against ``query``; see :class:`Reranker`."""
        if not hits or k <= 0:
            return []
        look_up = texts.__getitem__ if isinstance(texts, Mapping) else texts
        ids = list(dict.fromkeys(hit.id for hit in hits))
        logits = self._scorer.score(query, [look_up(id) for id in ids])
        return ranked(
            {id: round(logit, DECIMALS) for id, logit in zip(ids, logits, strict=True)}, k
        )
