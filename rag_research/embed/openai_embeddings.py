"""Any server that speaks OpenAI's embeddings API."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rag_research.config import inert
from rag_research.embed.base import Role, Vectors
from rag_research.errors import LLMError
from rag_research.llm.http import Endpoint, JsonClient
from rag_research.runtime.loops import run_async


@dataclass(frozen=True, slots=True)
class OpenAIEmbeddingsConfig:
    """An embedding model behind HTTP.

    Args:
        model: as the server calls it.
        base_url: up to and including ``/v1``.
        api_key_env: environment variable with the key; may be unset for a local server.
        dimensions: shorter vectors, for servers that offer them.
        query_prefix: put before every query.
        passage_prefix: put before every passage.
        batch_size: texts in one request.
        timeout: seconds without a byte before a try is given up; grows with each timeout.
        retries: tries after the first one.
        concurrency: most requests at once.
        backoff: seconds before the first retry; doubled each time.
    """

    model: str
    name: str = "openai_embeddings"
    base_url: str = "https://api.openai.com/v1"
    api_key_env: str = inert("OPENAI_API_KEY")
    dimensions: int | None = None
    query_prefix: str = ""
    passage_prefix: str = ""
    batch_size: int = inert(64)
    timeout: float = inert(120.0)
    retries: int = inert(6)
    concurrency: int = inert(8)
    backoff: float = inert(0.5)

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {self.batch_size}")


class OpenAIEmbeddings:
    """Embeddings over HTTP, L2-normalised here whatever the server does.

    Args:
        config: model, address, prefixes, patience.

    Raises:
        MissingExtraError: ``httpx`` is not installed.
    """

    Config = OpenAIEmbeddingsConfig

    def __init__(self, config: OpenAIEmbeddingsConfig) -> None:
        self.config = config
        self.client = JsonClient(Endpoint.of(config), "The encoder openai_embeddings")
        self._dimension = 0

    @property
    def identity(self) -> Mapping[str, str]:
        """Backend, address, model, asked dimensions and prefixes."""
        return {
            "backend": "openai_embeddings",
            "base_url": self.client.endpoint.shown,
            "model": self.config.model,
            "dimensions": str(self.config.dimensions or ""),
            "query_prefix": self.config.query_prefix,
            "passage_prefix": self.config.passage_prefix,
        }

    @property
    def dimension(self) -> int:
        """D; the first look embeds one word to learn it."""
        if not self._dimension:
            self.encode(["dimension"], "passage")
        return self._dimension

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """Embed texts, in order.

        Args:
            texts: N strings; an empty one is sent as a space, which servers accept.
            role: chooses the prefix.

        Raises:
            LLMError: the server refused, or every try failed, or vectors differ in length.

        Shapes:
            [N] -> [N, D]
        """
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        prefix = self.config.query_prefix if role == "query" else self.config.passage_prefix
        prepared = [prefix + text or " " for text in texts]
        batches = run_async(self._embed_all(prepared))
        rows = [row for batch in batches for row in batch]
        lengths = {len(row) for row in rows} | ({self._dimension} if self._dimension else set())
        if len(lengths) != 1:
            raise LLMError(
                f"{self.client.endpoint.shown} gave vectors of lengths {sorted(lengths)} for one "
                f"model {self.config.model!r}. Does the address lead to several models?"
            )
        self._dimension = lengths.pop()
        vectors = np.asarray(rows, dtype=np.float32)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: Vectors = vectors / np.maximum(norms, np.finfo(np.float32).tiny)
        return unit

    async def _embed_all(self, texts: Sequence[str]) -> list[list[list[float]]]:
        size = self.config.batch_size
        batches = [texts[i : i + size] for i in range(0, len(texts), size)]
        return await asyncio.gather(*(self._embed(batch) for batch in batches))

    async def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        body: dict[str, Any] = {"model": self.config.model, "input": list(texts)}
        if self.config.dimensions:
            body["dimensions"] = self.config.dimensions
        return await self.client.post("/embeddings", body, lambda answer: _rows(answer, len(texts)))


def _rows(answer: Any, expected: int) -> list[list[float]]:
    items = sorted(answer["data"], key=lambda item: int(item["index"]))
    if [item["index"] for item in items] != list(range(expected)):
        raise ValueError(f"asked for {expected} embeddings, got {len(items)}")
    rows = [item["embedding"] for item in items]
    if not all(rows) or not np.isfinite(np.concatenate(rows)).all():
        raise ValueError("an embedding is empty or not finite")
    return rows
