"""Every ablation of ToG-3 changes what is asked for and what happens."""

import asyncio
import hashlib
import json
from pathlib import Path

import pytest

from rag_research.config import build, fingerprint
from rag_research.config.compose import compose_dict, config_folder
from rag_research.corpus.sample_world import SampleWorld, SampleWorldConfig
from rag_research.embed.hashing import Hashing, HashingConfig
from rag_research.index.flat import Flat
from rag_research.llm.base import Request
from rag_research.llm.scripted import Scripted
from rag_research.prompts.library import PromptLibrary
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.systems.base import Parts
from rag_research.systems.tog3 import ToG3, ToG3Config
from rag_research.trace import Trace

pytest.importorskip("faiss")

ABLATIONS = sorted((config_folder() / "ablation" / "tog3").glob("*.yaml"))
WORLD = SampleWorld(SampleWorldConfig(passages=80)).load()
GOLD = SampleWorld(SampleWorldConfig(passages=80)).gold_triplets()
BY_TEXT = {passage.contents: GOLD.get(passage.id, ()) for passage in WORLD.corpus}


def reply(request: Request) -> str:
    """Depends on nothing but the request; triplets of a passage are the sample world's own."""
    text = request.messages[-1].content
    word = sorted({w for w in text.split() if w.istitle() and w.isalpha()} or {"it"})
    chosen = word[int(hashlib.sha256(text.encode()).hexdigest(), 16) % len(word)]
    if request.purpose == "extract":
        return json.dumps([list(t) for t in BY_TEXT.get(text, ())[:2]])
    if request.purpose == "extract_for_question":
        passage = text.removeprefix("Passage:\n").partition("\n\nQuestion:")[0]
        return json.dumps({"triplets": [list(t) for t in BY_TEXT.get(passage, ())[-2:]]})
    if request.purpose == "refine":
        known = [line for line in text.split("\n") if line.startswith("[")]
        return json.dumps({"triplets": [json.loads(line) for line in known[::2]]})
    turn = {"answer": chosen, "question": f"What of {chosen}?", "sufficient": False, "missing": ""}
    return chosen if request.purpose in ("respond", "answer", "summarise") else json.dumps(turn)


def solved(tmp_path: Path, *overrides: str) -> list[str]:
    """Trace lines of some questions, without times."""
    config = build(ToG3Config, compose_dict(["system=tog3", *overrides])["system"])
    encoder = Hashing(HashingConfig(dimension=128))
    parts = Parts(Scripted.of(reply), encoder, PromptLibrary(), build(Flat.Config, {}))
    system = ToG3(config, parts)
    index = system.index(WORLD.corpus, ArtifactStore(tmp_path))
    lines = []
    for question in WORLD.questions[:24]:
        trace = Trace(question.id)
        asyncio.run(system.solve(question.text, index, trace))
        rows = [{k: v for k, v in row.items() if k != "seconds"} for row in trace.lines()]
        lines += [json.dumps(row, default=str) for row in rows]
    return lines


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return solved(tmp_path_factory.mktemp("plain"))


def test_there_is_a_trace_of_every_agent(plain: list[str]) -> None:
    steps = {json.loads(line)["step"] for line in plain}
    agents = {"rerank", "respond", "reflect", "evolve_query", "evolve_subgraph", "synthesise"}
    assert steps == {"retrieve", *agents}


@pytest.mark.parametrize("path", ABLATIONS, ids=lambda p: p.stem)
def test_every_ablation_changes_fingerprint_and_trace(
    path: Path, plain: list[str], tmp_path: Path
) -> None:
    base = compose_dict(["system=tog3"])["system"]
    ablated = compose_dict(["system=tog3", f"ablation/tog3={path.stem}"])["system"]
    assert fingerprint(build(ToG3Config, base)) != fingerprint(build(ToG3Config, ablated))
    assert solved(tmp_path, f"ablation/tog3={path.stem}") != plain


def test_the_required_ablations_are_there() -> None:
    assert {path.stem for path in ABLATIONS} >= {
        "no_evolving_query",
        "no_subgraph_refinement",
        "no_communities",
        "no_reranker",
        "single_prompt_agent",
    }
