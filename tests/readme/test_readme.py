"""What the README says works as written."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rag_research.config.compose import compose_experiment
from rag_research.runtime.weights import list_models

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
DOCS = [README, CONTRIBUTING, *(p.read_text(encoding="utf-8") for p in ROOT.glob("docs/*.md"))]


def default_models_are_here() -> bool:
    fetched = {entry.name for entry in list_models() if entry.fetched}
    config = compose_experiment()
    return {config.llm.model, config.encoder.model} <= fetched


@pytest.mark.skipif(not default_models_are_here(), reason="default models are not fetched")
def test_the_python_example_runs_offline(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    lines = [line for line in code.splitlines() if line.strip()]
    assert len(lines) <= 10
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Port Maren ")
    assert "'Ines Okafor'" in done.stdout


def anchors(text: str) -> set[str]:
    """Headings as GitHub names them in links."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


@pytest.mark.parametrize("text", DOCS, ids=lambda text: text.splitlines()[0])
def test_links_lead_somewhere(text: str) -> None:
    broken = []
    prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)
    for target in (t for t in re.findall(r"\]\(([^)]+)\)", prose) if "://" not in t):
        name, _, anchor = target.partition("#")
        page = next((p for p in (ROOT / name, ROOT / "docs" / name) if name and p.exists()), None)
        there = text if not name else page.read_text("utf-8") if page and anchor else ""
        if (name and page is None) or (anchor and anchor not in anchors(there)):
            broken.append(target)
    assert broken == []


def test_named_folders_and_commands_exist() -> None:
    table = README.partition("## Where things are")[2]
    for folder in re.findall(r"^\| `([^`]+)`", table, re.MULTILINE):
        assert (ROOT / folder).is_dir(), folder
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"\bmake (\w+)", README):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


EVALUATIONS = re.findall(r"^rag-research evaluate (.*)$", README, re.MULTILINE)


@pytest.mark.parametrize("words", EVALUATIONS)
def test_the_evaluations_compose(words: str) -> None:
    settings = words.split()
    systems = settings[0].removeprefix("system=").split(",")
    for system in systems:
        assert compose_experiment([f"system={system}", *settings[1:]]).dataset.name == "jsonl"
