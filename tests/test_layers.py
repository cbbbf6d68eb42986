"""What DESIGN says about imports holds."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HEAVY = ("torch", "transformers", "faiss", "spacy", "bm25s", "hydra", "wandb", "httpx")
LIGHT_MODULES = (
    "rag_research",
    "rag_research.registry",
    "rag_research.config.schema",
    "rag_research.runtime.artifacts",
    "rag_research.systems.base",
    "rag_research.cli",
)


@pytest.mark.parametrize("module", LIGHT_MODULES)
def test_importing_costs_no_heavy_library(module: str) -> None:
    code = f"import sys, {module}; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == "[]"


def test_import_contracts_hold() -> None:
    command = Path(sys.executable).parent / "lint-imports"
    if not command.exists() and shutil.which("lint-imports") is None:
        pytest.skip("import-linter is not installed")
    done = subprocess.run(
        [str(command), "--no-cache"], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout[-2000:]


def test_no_file_has_grown_past_its_limit() -> None:
    code = [p for folder in ("rag_research", "evaluate") for p in (ROOT / folder).rglob("*.py")]
    too_long = {str(p): n for p in code if (n := len(p.read_text().splitlines())) > 400}
    assert code
    assert too_long == {}


def test_no_file_is_named_for_nothing_in_particular() -> None:
    names = {p.stem for p in (ROOT / "rag_research").rglob("*.py")}
    assert names.isdisjoint({"utils", "helpers", "common", "misc"})
