"""The example of docs/add_a_system.md is taken from the page and run as the page says."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from rag_research.cli import main
from rag_research.config import compose
from rag_research.config.build import build
from rag_research.config.compose import compose_experiment, config_folder
from rag_research.config.schema import ExperimentConfig
from rag_research.corpus.sample_world import SampleWorld
from rag_research.errors import ConfigError
from rag_research.evaluation.results import Results
from rag_research.evaluation.runner import evaluate
from rag_research.llm.base import Request
from rag_research.llm.scripted import Scripted
from rag_research.registry import SYSTEMS
from rag_research.systems.assemble import Models, OnDemandEncoder, OnDemandLLM, wrapped

pytest.importorskip("faiss")
ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "add_a_system.md").read_text(encoding="utf-8")
SYSTEM, TRIAL = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
(PRINTED,) = re.findall(r"\n\n```\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
NAME = "name_hop_rag"


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The system, saved and imported; known to one test only, others look at all there is."""
    (tmp_path / f"{NAME}.py").write_text(SYSTEM, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield __import__(NAME)
    del SYSTEMS._entries[NAME], sys.modules[NAME]


def run(out: Path, second_hop: str) -> tuple[Results, Scripted]:
    """All questions to a reader that says the answer where the prompt's passages hold it."""
    values = {"system": {"name": NAME, "second_hop": second_hop}, "dataset": "sample_world"}
    models = {"llm": "scripted", "encoder": "hashing"}
    place = {"out": str(out / second_hop), "store": str(out / "store")}
    config = build(ExperimentConfig, {**values, **models, "run": place})
    answers = {q.text: q.answers[0] for q in SampleWorld(config.dataset).load().questions}

    def reply(request: Request) -> str:
        shown, _, question = request.messages[-1].content.rpartition("\n\nQuestion: ")
        answer = answers[question]
        return answer if answer in shown else "unknown"

    backend = OnDemandLLM(config.llm)
    backend.backend = script = Scripted.of(reply)
    llm, budget, cache = wrapped(backend, config.budget, None)
    loaded = Models(llm, OnDemandEncoder(config.encoder), budget, cache, backend)
    return evaluate(config, loaded), script


def test_the_trial_prints_what_the_page_says(
    example: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(TRIAL, "trial", "exec"), {})
    assert capsys.readouterr().out == PRINTED


def test_questions_are_answered_end_to_end(example: ModuleType, tmp_path: Path) -> None:
    results, script = run(tmp_path, "names")
    assert (results.asked, results.answered, results.failed) == (48, 48, 0)
    assert [r.purpose for r in script.requests] == ["answer"] * 48
    assert results.query_usage["answer"].calls == 48
    plain, _ = run(tmp_path, "none")
    both = [r.metrics["exact_match"] for r in (results, plain)]
    assert both[0] is not None and both[1] is not None
    assert both[0].mean > both[1].mean > 0
    lines = (tmp_path / "names" / "traces.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == 4 * 48


def test_wrong_settings_are_refused(example: ModuleType) -> None:
    with pytest.raises(ConfigError, match="needs 1 <= k <= depth"):
        build(example.NameHopRAGConfig, {"k": 30})
    with pytest.raises(ConfigError, match="Did you mean 'second_hop'"):
        build(example.NameHopRAGConfig, {"second_hops": "none"})


def test_the_yaml_files_make_it_an_option_with_an_ablation(
    example: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "package" / "configs"
    shutil.copytree(config_folder(), folder)
    blocks = re.findall(r"^   ```yaml\n(.*?)^   ```", PAGE, re.DOTALL | re.MULTILINE)
    paths = re.findall(r"`configs/(\w+(?:/\w+)+\.yaml)`", PAGE)
    assert len(blocks) == len(paths) == 2
    for path, block in zip(paths, blocks, strict=True):
        text = re.sub(r"^   ", "", block, flags=re.MULTILINE)
        assert yaml.safe_load(text)
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    monkeypatch.setattr(compose, "_PACKAGE", folder.parent)
    ablated = compose_experiment([f"system={NAME}", f"ablation/{NAME}=one_hop"])
    assert ablated.system == example.NameHopRAGConfig(second_hop="none")
    words = [f"system={NAME}", "encoder=hashing", "llm=scripted", "limit=2", "run.store=store"]
    assert main(["evaluate", *words, "llm.replies=[Keld,Keld]", "run.out=out"]) == 0
    assert Results.load(tmp_path / "out").answered == 2
