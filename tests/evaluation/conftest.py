"""A tiny data set, a small system and scripted models, so that whole runs take milliseconds."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag_research.config import compose
from rag_research.config.build import build
from rag_research.config.compose import config_folder
from rag_research.config.schema import ExperimentConfig
from rag_research.corpus.corpus import Corpus
from rag_research.corpus.dataset import Dataset
from rag_research.embed.base import Role, Vectors
from rag_research.errors import LLMError
from rag_research.evaluation import experiment, runner, series
from rag_research.llm.base import Message, Request
from rag_research.llm.budget import BudgetedLLM
from rag_research.llm.cache import CachedLLM
from rag_research.llm.scripted import Scripted
from rag_research.llm.traced import TracedLLM
from rag_research.registry import DATASETS, DENSE_INDEXES, ENCODERS, RERANKERS, SYSTEMS, Registry
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.systems.assemble import Models, OnDemandEncoder, OnDemandLLM
from rag_research.systems.base import Index, System
from rag_research.trace import Trace
from rag_research.types import Answer, Hit, Passage, Question, Triplet

CITIES = ("Oslo", "Lima", "Kyiv", "Bern", "Cairo", "Quito", "Hanoi", "Tunis", "Accra", "Doha")


@dataclass(frozen=True, slots=True)
class CapitalsConfig:
    size: int = 10
    name: str = "capitals"


class Capitals:
    """Passage i says which city is the capital of country i; question i asks for it."""

    Config = CapitalsConfig

    def __init__(self, config: CapitalsConfig) -> None:
        self.config = config

    def load(self) -> Dataset:
        ids = range(self.config.size)
        corpus = Corpus(
            Passage(f"p{i}", f"Country {i}", f"The capital of Country {i} is {CITIES[i % 10]}.")
            for i in ids
        )
        questions = [
            Question(
                f"q{i}",
                f"What is the capital of Country {i} ?",
                answers=(CITIES[i % 10],),
                gold_passages=(f"p{i}",),
            )
            for i in ids
        ]
        return Dataset("capitals", corpus, questions)


@dataclass(frozen=True, slots=True)
class OverlapConfig:
    k: int = 3
    name: str = "overlap"


class Overlap(System):
    """Ranks passages by shared words; later questions finish first, to stir the order."""

    Config = OverlapConfig

    def index(self, corpus: Corpus, store: ArtifactStore) -> Index:
        self.parts.encoder.encode([p.text for p in corpus], "passage")

        async def summarise() -> None:
            message = Message("user", f"Summarise {len(corpus)} passages")
            await self.parts.llm.complete(Request((message,), purpose="summarise"))

        asyncio.run(summarise())
        return Index(corpus, {}, {}, {"passages": len(corpus)})

    async def solve(self, question: str, index: Index, trace: Trace) -> Answer:
        llm = TracedLLM(self.parts.llm, trace)
        words = set(question.split())
        with trace.step("retrieve") as step:
            scored = ((-len(words & set(p.contents.split())) / 7, p.id) for p in index.corpus)
            hits = tuple(Hit(id, -score) for score, id in sorted(scored)[: self.config.k])
            step.record(hits=hits)
        number = int(question.split()[-2])
        await asyncio.sleep(0.002 * (20 - number % 20))
        with trace.step("answer"):
            text = index.corpus[hits[0].id].text
            message = Message("user", f"{text}\n{question}")
            reply = await llm.complete(
                Request((message,), purpose="answer", prompt="test/answer@1")
            )
        fact = Triplet(f"Country {number}", "has capital", reply.text or "nothing")
        return Answer(reply.text, hits, 1, (fact,), {"unique_chunks": len(hits)})


@dataclass(frozen=True, slots=True)
class LettersConfig:
    name: str = "letters"


class Letters:
    """Two numbers a text."""

    Config = LettersConfig
    dimension = 2

    def __init__(self, config: LettersConfig) -> None:
        self.config = config
        self.identity = {"model": "letters"}

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        rows = np.array([[1.0, len(text)] for text in texts], dtype=np.float32)
        unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit


@dataclass(frozen=True, slots=True)
class UnusedConfig:
    name: str = "unused"


class Unused:
    """Stands in slots that the overlap system does not look at."""

    Config = UnusedConfig


COMPONENTS: list[tuple[Registry[Any], str, type]] = [
    (DATASETS, "capitals", Capitals),
    (DENSE_INDEXES, "unused", Unused),
    (RERANKERS, "unused", Unused),
    (SYSTEMS, "overlap", Overlap),
    (ENCODERS, "letters", Letters),
]


@pytest.fixture(autouse=True)
def _components(monkeypatch: pytest.MonkeyPatch) -> None:
    """Known to the tests of this folder only: others look at all there is."""
    for registry, name, component in COMPONENTS:
        monkeypatch.setitem(registry._entries, name, component)


def read_the_passage(request: Request) -> str:
    """The right city, wrapped in words for every third country."""
    text = request.messages[-1].content
    if text.startswith("Summarise"):
        return "a summary"
    city = text.split(" is ")[1].split(".")[0]
    number = int(text.split()[-2])
    return f"It is {city}" if number % 3 == 0 else city


@dataclass
class Lab:
    """Makes configurations and models below one temporary folder."""

    root: Path
    reply: Callable[[Request], str] = read_the_passage
    scripts: list[Scripted] = field(default_factory=list)
    read_the_passage = staticmethod(read_the_passage)

    def config(self, **changes: Any) -> ExperimentConfig:
        """A valid configuration; keyword ``run`` is merged."""
        run = {"out": str(self.root / "out"), "store": str(self.root / "store")}
        values = {
            "system": "overlap",
            "dataset": "capitals",
            "llm": "scripted",
            "encoder": "letters",
            "dense": "unused",
            "reranker": "unused",
            **changes,
            "run": {**run, **changes.get("run", {})},
        }
        return build(ExperimentConfig, values)

    def models(
        self,
        config: ExperimentConfig,
        reply: Callable[[Request], str] = read_the_passage,
        cache: bool = False,
    ) -> tuple[Models, Scripted]:
        """Models around a script, and the script."""
        scripted = Scripted.of(reply)
        backend = OnDemandLLM(config.llm)
        backend.backend = scripted
        budget = BudgetedLLM(backend, config.budget)
        kept = CachedLLM(budget, self.root / "cache.sqlite") if cache else None
        encoder = OnDemandEncoder(config.encoder)
        return Models(budget if kept is None else kept, encoder, budget, kept, backend), scripted

    def words(self, *more: str) -> list[str]:
        """A command line for the components of this folder."""
        return [
            "system=overlap", "dataset=capitals", "llm=scripted", "encoder=letters",
            f"run.store={self.root / 'store'}", f"run.out={self.root / 'out'}", *more,
        ]  # fmt: skip


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


OPTIONS = {
    "system/overlap": "name: overlap\n",
    "dataset/capitals": "name: capitals\n",
    "dataset/fewer_capitals": "name: capitals\nsize: 4\n",
    "encoder/letters": "name: letters\n",
    "ablation/overlap/one_passage": "# Is one passage enough?\nsystem:\n  k: 1\n",
    "ablation/overlap/two_passages": "# Are two passages enough?\nsystem:\n  k: 2\n",
    "ablation/overlap/three_passages": "# Does the default change anything?\nsystem:\n  k: 3\n",
}


@pytest.fixture
def command_lab(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """A lab whose components can be chosen on a command line; every command gets new models."""
    folder = lab.root / "package" / "configs"
    shutil.copytree(config_folder(), folder)
    for option, text in OPTIONS.items():
        path = folder / f"{option}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(compose, "_PACKAGE", folder.parent)

    def load_models(config: ExperimentConfig, store: ArtifactStore) -> Models:
        models, script = lab.models(config, reply=lab.reply, cache=True)
        lab.scripts.append(script)
        return models

    for module in (series, runner, experiment):
        monkeypatch.setattr(module, "load_models", load_models)
    return lab


@pytest.fixture
def fails_on() -> Callable[[str], Callable[[Request], str]]:
    """A script whose call fails for prompts that hold a given text."""

    def make(part: str) -> Callable[[Request], str]:
        def reply(request: Request) -> str:
            if part in request.messages[-1].content:
                raise LLMError(f"the server refused {part!r}")
            return read_the_passage(request)

        return reply

    return make
