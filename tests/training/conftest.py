"""A small world of documents on two subjects, and a run over it."""

import importlib.util
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("pytorch_lightning")

ROOT = Path(__file__).resolve().parents[2]
SUBJECTS = {
    "sea": "ship harbour sail captain storm anchor wave sailor",
    "court": "king crown palace queen throne duke castle heir",
    "field": "wheat plough farmer barn harvest meadow cattle seed",
}


def _sentence(generator: random.Random, words: list[str]) -> str:
    return "The " + " ".join(generator.choices(words, k=6)) + "."


def _document(generator: random.Random, number: int) -> dict[str, Any]:
    subjects = random.Random(number).sample(sorted(SUBJECTS), 3)
    segments = [
        [_sentence(generator, SUBJECTS[s].split()) for _ in range(generator.randint(4, 7))]
        for s in subjects
    ]
    return {"id": str(number), "source": "toy", "segments": segments}


@pytest.fixture(scope="session")
def toy_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("toy")
    generator = random.Random(0)
    for name, count in (("toy_train", 24), ("toy_val", 6)):
        lines = (json.dumps(_document(generator, i)) for i in range(count))
        (folder / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def toy_table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint whose word table knows the subjects; its network is untrained."""
    import numpy as np

    from rag_research.extract.boundary_checkpoint import save_checkpoint
    from rag_research.extract.boundary_features import VERSIONS
    from rag_research.extract.word_table import WordTable
    from rag_research.models.boundary_mlp import BoundaryMLP

    generator = np.random.default_rng(0)
    words, vectors = [], []
    for subject in SUBJECTS.values():
        centre = generator.normal(size=8)
        for word in subject.split():
            words.append(word)
            vectors.append(centre + 0.3 * generator.normal(size=8))
    scaled = np.array(vectors) / np.abs(vectors).max()
    table = WordTable(
        words, np.round(127 * scaled).astype(np.int8), np.ones(len(words), dtype=np.float32)
    )
    path = tmp_path_factory.mktemp("table") / "toy.safetensors"
    card = {
        "mode": "light",
        "feature_version": VERSIONS["light"],
        "hidden": [4],
        "encoder": None,
        "decoding": {"decoder": "threshold", "threshold": 0.5},
    }
    save_checkpoint(path, BoundaryMLP(432 + 4 * 8, (4,)), table, card)
    return path


@pytest.fixture
def settings(toy_folder: Path, toy_table: Path, tmp_path: Path) -> list[str]:
    return [
        f"data.folder={toy_folder}",
        "data.train=[toy_train]",
        "data.validate=[toy_val]",
        "data.batch_rows=64",
        f"table={toy_table}",
        "network.hidden=[16,8]",
        "trainer.accelerator=cpu",
        "trainer.epochs=4",
        f"out={tmp_path / 'run'}",
    ]


@pytest.fixture
def two_threads() -> Iterator[None]:
    """PyTorch works on two threads until someone says otherwise."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def multihop_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Questions over the sample world in two data sets, with other passages beside the gold."""
    from rag_research.corpus.sample_world import SampleWorld, SampleWorldConfig
    from rag_research.text.sentences import split_sentences

    dataset = SampleWorld(SampleWorldConfig(passages=200, questions=48)).load()
    generator = random.Random(0)
    everything = list(dataset.corpus)
    rows = []
    for number, question in enumerate(dataset.questions):
        gold = [dataset.corpus[id] for id in question.gold_passages]
        given = {p.id: p for p in [*gold, *generator.sample(everything, 6)]}
        passages = list(given.values())
        generator.shuffle(passages)
        evidence = [[t.subject, t.predicate, t.object] for t in question.evidence]
        facts = [
            [p.title, n]
            for p in gold
            for n, sentence in enumerate(split_sentences(p.text))
            if any(o in sentence for s, _, o in evidence if s == p.title)
        ]
        row = {
            "dataset": "small" if number % 4 == 0 else "large",
            "id": f"q{number}",
            "question": question.text,
            "passages": [
                {
                    "title": p.title,
                    "sentences": split_sentences(p.text),
                    "is_gold": p.id in question.gold_passages,
                }
                for p in passages
            ],
            "evidences": evidence,
            "supporting_facts": facts,
        }
        rows.append(json.dumps(row))
    path = tmp_path_factory.mktemp("multihop") / "multihop.jsonl"
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def graph_folders(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Stores that all tests share: encoder states and candidate graphs are made once."""
    folder = tmp_path_factory.mktemp("graphs")
    return [f"data.store={folder / 'store'}", f"data.cache={folder / 'cache'}"]


@pytest.fixture
def selector_settings(multihop_file: Path, graph_folders: list[str], tmp_path: Path) -> list[str]:
    return [
        f"data.questions={multihop_file}",
        *graph_folders,
        "encoder=hashing",
        "encoder.dimension=128",
        "candidates.found=12",
        "candidates.front=4",
        "candidates.namers=6",
        "network.width=16",
        "network.dropout=0.1",
        "data.edge_dropout=0.05",
        "data.seed_dropout=0.1",
        "data.validation=0.2",
        "trainer.accelerator=cpu",
        "trainer.epochs=2",
        f"out={tmp_path / 'run'}",
    ]


@pytest.fixture
def in_two_processes() -> Callable[[str, list[str]], None]:
    """Runs a script of ``train/`` with settings that ask for two processes."""

    def run(script: str, words: list[str]) -> None:
        done = subprocess.run(
            [sys.executable, str(ROOT / "train" / f"{script}.py"), *words],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            cwd=ROOT,
        )
        if done.returncode and ("Address" in done.stderr or "Permission" in done.stderr):
            pytest.skip("this machine lets no two processes talk to each other")
        assert done.returncode == 0, done.stderr[-2000:]
        assert "GLOBAL_RANK: 1, MEMBER: 2/2" in done.stderr

    return run


@pytest.fixture(scope="session")
def training_script() -> Callable[[str], ModuleType]:
    """Loads a script of ``train/``."""

    def load(name: str) -> ModuleType:
        path = ROOT / "train" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(f"train_{name}", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load
