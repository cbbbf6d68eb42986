"""What is installed without the repository: code, configs, prompts, data, networks, licences."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = (
    "rag_research", "configs", "checkpoints", "setup.cfg", "setup.py", "pyproject.toml",
    "MANIFEST.in", "README.md", "CHANGELOG.md", "LICENSE", "constraints.txt",
)  # fmt: skip
LOADED = """
from pathlib import Path
import rag_research
from rag_research.config.compose import compose_experiment, config_folder
from rag_research.extract.boundary import Boundary
from rag_research.runtime.checkpoints import find_checkpoint
from rag_research.prompts.library import PromptLibrary
from rag_research.registry import DATASETS
from rag_research.runtime.weights import list_models

config = compose_experiment(["system=dense_rag", "encoder=hashing"])
world = DATASETS.get("sample_world")(config.dataset).load()
print(Path(rag_research.__file__).parent, config_folder(), sep="\\n")
print(len(world.corpus), len(world.questions) >= 40)
print("t2rag/decompose" in PromptLibrary().names())
print(all(f.is_file() for m in list_models() for f in m.licence_files))
print(find_checkpoint("boundary-light", "boundary").parent)
text = "Ann sailed home. The crew slept."
print(Boundary(Boundary.Config()).segment([text])[0][-1][1] == len(text))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Source distribution, then a wheel from it: a file that either forgets is missing."""
    pytest.importorskip("setuptools", minversion="77")
    folder = tmp_path_factory.mktemp("build")
    source = folder / "source"
    source.mkdir()
    for name in SOURCES:
        here = ROOT / name
        if here.is_dir():
            shutil.copytree(here, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(here, source / name)
    build = "from setuptools import build_meta; build_meta.build_sdist({!r})"
    call([sys.executable, "-c", build.format(str(folder))], cwd=source)
    (archive,) = folder.glob("*.tar.gz")
    flags = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    call([sys.executable, "-m", "pip", "wheel", *flags, str(archive), "-w", str(folder)], folder)
    (built,) = folder.glob("*.whl")
    return built


def call(command: list[str], cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_data_file_of_the_repository_is_in_the_wheel(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    package = [
        p.relative_to(ROOT).as_posix()
        for p in (ROOT / "rag_research").rglob("*")
        if p.is_file() and "__pycache__" not in p.parts
    ]
    configs = [
        f"rag_research/{p.relative_to(ROOT).as_posix()}" for p in (ROOT / "configs").rglob("*.yaml")
    ]
    networks = [
        f"rag_research/{p.relative_to(ROOT).as_posix()}" for p in (ROOT / "checkpoints").iterdir()
    ]
    assert set(package) - names == set()
    assert len(networks) > 1 and set(networks) - names == set()
    assert set(configs) - names == set()
    assert {name.partition("/")[0] for name in names} == {
        "rag_research",
        next(name.partition("/")[0] for name in names if "dist-info" in name),
    }


def test_the_installed_package_works_without_the_repository(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    package = str(site / "rag_research")
    shown = call([sys.executable, "-c", LOADED], tmp_path, PYTHONPATH=str(site)).split("\n")
    assert shown[:2] == [package, f"{package}/configs"]
    assert shown[2:5] == ["200 True", "True", "True"]
    assert shown[5:7] == [f"{package}/checkpoints", "True"]


def test_the_metadata_pins_nothing_and_names_the_command(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (metadata,) = (n for n in archive.namelist() if n.endswith("dist-info/METADATA"))
    (scripts,) = (n for n in archive.namelist() if n.endswith("entry_points.txt"))
    text = archive.read(metadata).decode()
    required = [line for line in text.splitlines() if line.startswith("Requires-Dist:")]
    assert any("torch>=" in line for line in required)
    # A marker such as `; extra == "cpu"` is no pin.
    assert [line for line in required if "==" in line.partition(";")[0]] == []
    assert "rag-research = rag_research.cli:main" in archive.read(scripts).decode()
