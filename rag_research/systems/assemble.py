"""From a configuration to a system with its parts; models load on first use.

Several systems of one command share one :class:`Models`, so nothing is loaded twice, and a
system that never asks the encoder never loads it.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rag_research.config.schema import BudgetConfig, ExperimentConfig
from rag_research.embed.base import Encoder, Role, Vectors, token_encoder
from rag_research.errors import ConfigError
from rag_research.llm.base import LLM, Completion, Request
from rag_research.llm.budget import BudgetedLLM
from rag_research.llm.cache import CachedLLM
from rag_research.prompts.library import PromptLibrary
from rag_research.registry import ENCODERS, LLMS, SYSTEMS
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.systems.base import Parts, System

logger = logging.getLogger(__name__)

CACHE_FILE = "llm_cache.sqlite"


class OnDemandLLM:
    """An LLM backend that is made when it is first asked for something.

    A backend that reads weights may have ``async def prepare()``. It is awaited before the
    first request and its time kept apart, so that loading is not taken for thinking.

    Args:
        config: an entry of ``LLMS``.
    """

    def __init__(self, config: Any) -> None:
        self.config = config
        self.load_seconds = 0.0
        self._ready = False
        self._started: float | None = None

    @cached_property
    def backend(self) -> LLM:
        """The real backend; the first access loads it."""
        return cast(LLM, LLMS.get(self.config.name)(self.config))

    @property
    def identity(self) -> Mapping[str, str]:
        """Of the backend; asking loads it."""
        return self.backend.identity

    async def complete(self, request: Request) -> Completion:
        """Pass the request on."""
        if not self._ready:
            await self._prepare()
        return await self.backend.complete(request)

    async def _prepare(self) -> None:
        prepare = getattr(self.backend, "prepare", None)
        if prepare is not None:
            if self._started is None:
                self._started = time.perf_counter()
            await prepare()
            if not self._ready:  # of those who waited together, the first one notes the time
                self.load_seconds = time.perf_counter() - self._started
        self._ready = True


class OnDemandEncoder:
    """An encoder that is made when it is first asked for something.

    Args:
        config: an entry of ``ENCODERS``.
        shared: take the loaded encoder of this one instead of loading another.
    """

    def __init__(self, config: Any, shared: OnDemandEncoder | None = None) -> None:
        self.config = config
        self.used = False
        self._shared = shared

    @cached_property
    def backend(self) -> Encoder:
        """The real encoder; the first access loads it."""
        self.used = True
        if self._shared is not None:
            return self._shared.backend
        return cast(Encoder, ENCODERS.get(self.config.name)(self.config))

    @property
    def kind(self) -> type:
        """Class of the encoder, which is not loaded for it."""
        return cast(type, ENCODERS.get(self.config.name))

    @property
    def identity(self) -> Mapping[str, str]:
        """Of the encoder; asking loads it."""
        return self.backend.identity

    @property
    def dimension(self) -> int:
        """Of the encoder; asking loads it."""
        return self.backend.dimension

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """Pass the texts on."""
        return self.backend.encode(texts, role)

    def token_states(self, texts: Sequence[str], role: Role) -> Iterator[tuple[list[int], Any]]:
        """Pass the texts on, if the encoder shows its tokens; see ``TokenEncoder``."""
        return token_encoder(self.backend).token_states(texts, role)

    def token_offsets(self, texts: Sequence[str], role: Role) -> list[NDArray[np.int32]]:
        """Pass the texts on, if the encoder shows its tokens."""
        return token_encoder(self.backend).token_offsets(texts, role)

    def pooled(self, texts: Sequence[str], states: Any) -> Vectors:
        """Pass a batch on, if the encoder shows its tokens."""
        return token_encoder(self.backend).pooled(texts, states)

    def vocabulary(self) -> list[str]:
        """Ask the encoder, if it shows its tokens."""
        return token_encoder(self.backend).vocabulary()


@dataclass(frozen=True, slots=True)
class Models:
    """The models of one command, with the wrappers that count.

    Args:
        llm: what systems get: cache around budget around backend.
        encoder: the shared encoder.
        budget: what the command has spent so far; it covers all systems of the command.
        cache: the reply cache, or ``None`` when switched off.
        backend: what runs below the wrappers.
    """

    llm: LLM
    encoder: OnDemandEncoder
    budget: BudgetedLLM
    cache: CachedLLM | None
    backend: OnDemandLLM


def load_models(config: ExperimentConfig, store: ArtifactStore) -> Models:
    """Models for ``config``; weights are read when a system first needs them.

    Args:
        config: its ``llm``, ``encoder``, ``budget`` and ``run.cache`` are read.
        store: the reply cache lies in its root.
    """
    backend = OnDemandLLM(config.llm)
    caches = config.run.cache and _keeps_replies(store)
    llm, budget, cache = wrapped(backend, config.budget, store if caches else None)
    return Models(llm, OnDemandEncoder(config.encoder), budget, cache, backend)


def _keeps_replies(store: ArtifactStore) -> bool:
    """Whether there can be a reply cache; an index may lie where nobody may write."""
    if not store.read_only or os.access(store.root, os.W_OK):
        return True
    logger.warning(
        "%s cannot be written: no reply is kept, and none of before is used.", store.root
    )
    return False


def wrapped(
    backend: LLM, limits: BudgetConfig, store: ArtifactStore | None
) -> tuple[LLM, BudgetedLLM, CachedLLM | None]:
    """Budget and cache around a backend: the outermost wrapper, the budget, the cache.

    Args:
        backend: what answers.
        limits: of the budget.
        store: the reply cache lies in its root; ``None`` goes without one.
    """
    budget = BudgetedLLM(backend, limits)
    cache = CachedLLM(budget, store.root / CACHE_FILE) if store is not None else None
    # An empty cache has length 0 and is false, so it is compared with None.
    return budget if cache is None else cache, budget, cache


def build_parts(
    config: ExperimentConfig, store: ArtifactStore, models: Models | None = None
) -> Parts:
    """Everything a system is given to work with.

    Args:
        config: the run's configuration.
        store: where the reply cache lies.
        models: models that are there already.

    Raises:
        ConfigError: ``models`` were made from other settings.
    """
    models = models or load_models(config, store)
    for kind, has, wants in (
        ("llm", models.backend.config, config.llm),
        ("encoder", models.encoder.config, config.encoder),
    ):
        if has != wants:
            raise ConfigError(f"{kind}: the loaded models are {has}, the run asks for {wants}.")
    return Parts(
        llm=models.llm,
        encoder=OnDemandEncoder(config.encoder, shared=models.encoder),
        prompts=PromptLibrary(config.prompts),
        dense=config.dense,
        reranker=config.reranker,
        concurrency=config.run.concurrency,
    )


def build_system(config: ExperimentConfig, parts: Parts) -> System:
    """The configured system around its parts."""
    return cast(System, SYSTEMS.get(config.system.name)(config.system, parts))
