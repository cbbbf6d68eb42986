"""Parts from a configuration: loaded late, once, and only if used."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rag_research.config.build import build
from rag_research.config.schema import ExperimentConfig
from rag_research.embed.token_store import TokenStore
from rag_research.errors import ConfigError
from rag_research.llm.base import Completion, Message, Request
from rag_research.llm.budget import BudgetedLLM
from rag_research.llm.cache import CachedLLM
from rag_research.registry import LLMS
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.systems.assemble import OnDemandLLM, build_parts, build_system, load_models
from rag_research.systems.closed_book import ClosedBook


@dataclass(frozen=True, slots=True)
class HeavyConfig:
    name: str = "heavy"


class Heavy:
    """Counts how often it is made."""

    Config = HeavyConfig
    made = 0

    def __init__(self, config: HeavyConfig) -> None:
        self.config = config
        type(self).made += 1

    @property
    def identity(self) -> dict[str, str]:
        return {"backend": "heavy"}


@pytest.fixture(autouse=True)
def _heavy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Known to the tests of this file only: others look at all there is."""
    monkeypatch.setitem(LLMS._entries, "heavy", Heavy)


def config(root: Path, **changes: Any) -> ExperimentConfig:
    values = {
        "system": "closed_book",
        "dataset": "sample_world",
        "llm": {"name": "scripted", "replies": ["Oslo", "Lima"]},
        "encoder": "hashing",
        "run": {"store": str(root), **changes.pop("run", {})},
        **changes,
    }
    return build(ExperimentConfig, values)


REQUEST = Request((Message("user", "?"),))


async def test_the_cache_stands_around_the_budget(tmp_path: Path) -> None:
    chosen = config(tmp_path, budget={"calls": 1})
    models = load_models(chosen, ArtifactStore(tmp_path))
    parts = build_parts(chosen, ArtifactStore(tmp_path), models)
    assert isinstance(parts.llm, CachedLLM)
    assert (await parts.llm.complete(REQUEST)).text == "Oslo"
    again = await parts.llm.complete(REQUEST)
    assert again.cached and again.text == "Oslo"
    assert models.budget.started == 1
    assert (tmp_path / "llm_cache.sqlite").exists()


async def test_the_cache_can_be_switched_off(tmp_path: Path) -> None:
    chosen = config(tmp_path, run={"cache": False})
    parts = build_parts(chosen, ArtifactStore(tmp_path))
    assert isinstance(parts.llm, BudgetedLLM)
    replies = [(await parts.llm.complete(REQUEST)).text for _ in range(2)]
    assert replies == ["Oslo", "Lima"]
    assert not (tmp_path / "llm_cache.sqlite").exists()


def test_a_model_is_made_on_first_use_and_once(tmp_path: Path) -> None:
    chosen = config(tmp_path, llm="heavy")
    models = load_models(chosen, ArtifactStore(tmp_path))
    first, second = (build_parts(chosen, ArtifactStore(tmp_path), models) for _ in range(2))
    assert Heavy.made == 0
    assert first.llm.identity == second.llm.identity == {"backend": "heavy"}
    assert Heavy.made == 1


def test_an_encoder_is_shared_but_its_use_is_known_for_each_system(tmp_path: Path) -> None:
    chosen = config(tmp_path)
    models = load_models(chosen, ArtifactStore(tmp_path))
    first, second = (build_parts(chosen, ArtifactStore(tmp_path), models) for _ in range(2))
    vectors = first.encoder.encode(["a b", ""], "query")
    assert vectors.shape == (2, first.encoder.dimension)
    assert (first.encoder.used, second.encoder.used) == (True, False)  # type: ignore[attr-defined]
    assert second.encoder.identity == first.encoder.identity
    assert second.encoder.backend is first.encoder.backend  # type: ignore[attr-defined]


def test_models_of_other_settings_are_refused(tmp_path: Path) -> None:
    models = load_models(config(tmp_path), ArtifactStore(tmp_path))
    with pytest.raises(ConfigError, match="llm: the loaded models are"):
        build_parts(config(tmp_path, llm="heavy"), ArtifactStore(tmp_path), models)


def test_the_system_gets_its_own_settings(tmp_path: Path) -> None:
    chosen = config(tmp_path)
    system = build_system(chosen, build_parts(chosen, ArtifactStore(tmp_path)))
    assert isinstance(system, ClosedBook)
    assert system.config is chosen.system


class Slow(Heavy):
    """A backend whose weights take a moment."""

    prepared = 0

    async def prepare(self) -> None:
        await asyncio.sleep(0.05)
        type(self).prepared += 1

    async def complete(self, request: Request) -> Completion:
        assert self.prepared
        return Completion(request.messages[0].content, 1, 1)


async def test_loading_time_is_kept_apart_and_counted_once_for_all_who_wait() -> None:
    llm = OnDemandLLM(HeavyConfig())
    llm.backend = Slow(HeavyConfig())  # type: ignore[misc]
    assert llm.load_seconds == 0.0
    replies = await asyncio.gather(*(llm.complete(REQUEST) for _ in range(4)))
    assert {reply.text for reply in replies} == {"?"}
    loaded = llm.load_seconds
    assert loaded >= 0.05
    assert Slow.prepared <= 4
    await llm.complete(REQUEST)
    assert llm.load_seconds == loaded


def test_the_encoder_shows_its_tokens_through_the_wrapper(tmp_path: Path) -> None:
    encoder = load_models(config(tmp_path), ArtifactStore(tmp_path)).encoder
    store = TokenStore(tmp_path, encoder, 8)
    assert not encoder.used
    tables = store.tables(["Oslo lies by the fjord.", ""])
    assert (tables.vectors == encoder.encode(["Oslo lies by the fjord.", ""], "passage")).all()
    assert tables.token_start.tolist() == [0, 6, 6]
    assert encoder.used


def test_tokens_of_an_encoder_behind_http_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("httpx")
    remote = {"name": "openai_embeddings", "model": "m", "base_url": "http://localhost:9/v1"}
    encoder = load_models(config(tmp_path, encoder=remote), ArtifactStore(tmp_path)).encoder
    with pytest.raises(ConfigError, match=r"OpenAIEmbeddings.*encoder=minilm"):
        TokenStore(tmp_path, encoder)
    assert not encoder.used  # its class tells
    for ask in (encoder.token_states, encoder.token_offsets):
        with pytest.raises(ConfigError, match=r"OpenAIEmbeddings.*encoder=minilm"):
            ask(["a"], "query")
