"""An index in a folder: build it once, add to it, ask it from any later process.

The folder is the root of an :class:`~rag_research.runtime.artifacts.ArtifactStore`, plus
``index.json``, which names the corpus artefact and the settings the index was built with, and
``settings.json``, which says what the last command was given, whether or not it came to its end.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from rag_research import __version__
from rag_research.config.build import to_dict
from rag_research.config.compose import compose_experiment, override
from rag_research.config.schema import ExperimentConfig
from rag_research.corpus.corpus import Corpus
from rag_research.errors import ArtifactError, ConfigError, DataError
from rag_research.runtime.artifacts import ArtifactStore, differences
from rag_research.runtime.loops import run_async
from rag_research.runtime.seeding import seed_everything
from rag_research.runtime.text_files import write_text
from rag_research.systems.assemble import build_parts, build_system, load_models
from rag_research.systems.base import Index, System
from rag_research.trace import Trace
from rag_research.types import Answer, Passage

logger = logging.getLogger(__name__)

DESCRIPTION = "index.json"
SETTINGS = "settings.json"
FORMAT = 1
_LOCK = ".index.lock"
_FILES = {
    "prompts",
    "system.extractor.path",
    "system.graph.extractor.path",
    "system.path_selector",
    "system.segmenter.checkpoint",
}


@dataclass(frozen=True, slots=True)
class SavedIndex:
    """A system and its index, ready to be asked.

    Args:
        folder: where it lies.
        config: the settings in use.
        system: answers questions.
        index: over :attr:`Index.corpus`.
    """

    folder: Path
    config: ExperimentConfig
    system: System
    index: Index

    @property
    def corpus(self) -> Corpus:
        """The passages, to look evidence up."""
        return self.index.corpus

    def ask(self, question: str) -> tuple[Answer, Trace]:
        """Answer one question; the trace holds every step and its cost."""
        trace = Trace("ask")
        return run_async(self.system.solve(question, self.index, trace)), trace


@dataclass(frozen=True, slots=True)
class Settings:
    """What the last command that indexed into a folder was given.

    Args:
        overrides: of the index, such as ``system=dense_rag``.
        reading: source -> how it was read: ``dataset=NAME``, then settings of that loader. The
            last source comes last.
    """

    overrides: Sequence[str] = ()
    reading: Mapping[str, Sequence[str]] = field(default_factory=dict)


def build_index(
    corpus: Corpus,
    folder: Path | str,
    overrides: Sequence[str] = (),
    *,
    add: bool = False,
    reading: Mapping[str, Sequence[str]] | None = None,
) -> SavedIndex:
    """Index ``corpus`` into ``folder``; finished work of an earlier call is used again.

    A second call for the same folder waits for the first.

    Args:
        corpus: all passages of the index, or with ``add`` further ones.
        folder: created when missing.
        overrides: settings such as ``system=dense_rag`` or ``system.k=3``.
        add: keep the passages that are there, and their settings unless overridden.
        reading: see :class:`Settings`; what is known of other sources is kept.

    Raises:
        DataError: with ``add``, a passage has the id of another one that is there, or a document
            is there that has other passages now.
        ArtifactError: with ``add``, there is no index in the folder.
    """
    folder = Path(folder)
    with index_lock(folder):
        settings = list(overrides)
        if add:
            known = _describe(folder)
            settings = merged(known["overrides"], settings)
            corpus = _joined(Corpus.load(folder / known["corpus"]), corpus)
        config = compose_experiment(settings)
        if files := _files_of(config, settings):
            settings = merged(settings, files)
            config = compose_experiment(settings)
        store = ArtifactStore(folder)
        saved = corpus.save(store)
        own = dict(reading or {})
        others = {k: v for k, v in settings_of(folder).reading.items() if k not in own}
        _keep_settings(folder, Settings(settings, others | own))
        opened = _open(folder, config, corpus, store)
        description = {
            "format": FORMAT,
            "version": __version__,
            "corpus": saved.path.relative_to(folder).as_posix(),
            "passages": len(corpus),
            "overrides": settings,
            "config": {k: v for k, v in to_dict(config).items() if k != "dataset"},
            "counts": dict(opened.index.counts),
        }
        _write(folder / DESCRIPTION, description)
    return opened


@contextmanager
def index_lock(folder: Path) -> Iterator[None]:
    """One command at a time indexes into ``folder``, which is made; a second one says it waits.

    A folder that stays empty is removed again.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # One object for one path: who holds the lock may take it again.
    lock = FileLock(folder / _LOCK, is_singleton=True)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        logger.warning("%s: another process is indexing into it; waiting for its end.", folder)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
        if not lock.is_locked and {path.name for path in folder.iterdir()} <= {_LOCK}:
            shutil.rmtree(folder)


def settings_of(folder: Path | str) -> Settings:
    """What the last command that indexed into a folder was given, also if it was interrupted."""
    folder = Path(folder)
    try:
        known = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
        return Settings(known["overrides"], known["reading"])
    except (OSError, ValueError, LookupError, TypeError):  # none yet, or of an earlier version
        pass
    try:
        return Settings(_describe(folder)["overrides"])
    except ArtifactError:
        return Settings()


def _keep_settings(folder: Path, settings: Settings) -> None:
    sources = {source: list(own) for source, own in settings.reading.items()}
    _write(folder / SETTINGS, {"overrides": list(settings.overrides), "reading": sources})


def _write(path: Path, content: Mapping[str, Any]) -> None:
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def open_index(folder: Path | str, overrides: Sequence[str] = ()) -> SavedIndex:
    """Open an index that :func:`build_index` made; nothing is built and no corpus is needed.

    Args:
        folder: of the index.
        overrides: further settings; those that would need another index are an error.

    Raises:
        ArtifactError: there is no index, or the settings ask for something it does not hold.
    """
    folder = Path(folder)
    known = _describe(folder)
    before = config = compose_experiment(merged(known["overrides"], overrides))
    if overrides:
        with suppress(ConfigError):  # once accepted, mended by the overrides
            before = compose_experiment(known["overrides"])
    corpus = Corpus.load(folder / known["corpus"])
    try:
        return _open(folder, config, corpus, ArtifactStore(folder, read_only=True), before)
    except ArtifactError as error:
        plain = (to_dict(c, with_inert=False) for c in (before, config))
        changed = [f"{name} was {old!r}, is {new!r}" for name, old, new in differences(*plain)]
        if not changed:
            raise
        raise ArtifactError(f"{error}\nChanged settings: {'; '.join(changed)}.") from error


def merged(earlier: Sequence[str], later: Sequence[str]) -> list[str]:
    """Both lists of overrides as one; the later value of a key wins.

    A later choice of a group (``system=dense_rag``) also drops the earlier settings inside it
    (``system.rounds=2``), which belonged to the earlier choice.
    """
    keys = {override.lstrip("+~").partition("=")[0] for override in later}
    kept = [
        override
        for override in earlier
        if (key := override.lstrip("+~").partition("=")[0]) not in keys
        and key.partition(".")[0] not in keys
    ]
    return [*kept, *later]


def _open(
    folder: Path,
    config: ExperimentConfig,
    corpus: Corpus,
    store: ArtifactStore,
    before: ExperimentConfig | None = None,
) -> SavedIndex:
    """Index, or find, and put the system around it.

    Args:
        folder, config, corpus, store: of the index.
        before: settings it was built with; another reader now reads what that one extracted.
    """
    seed_everything(config.seed)
    parts = build_parts(config, store)
    indexing = parts
    if before is not None and before.llm != config.llm:
        indexing = replace(parts, llm=load_models(before, store).llm)
    index = build_system(config, indexing).index(corpus, store)
    return SavedIndex(folder, config, build_system(config, parts), index)


def _files_of(config: ExperimentConfig, settings: Sequence[str]) -> list[str]:
    """Settings that name files, by their whole path: who asks may stand in another folder."""
    found = []
    given = {word.lstrip("+").partition("=")[0] for word in settings}
    for key in sorted(given & _FILES):
        value: Any = config
        for name in key.split("."):
            value = getattr(value, name, None)
        # A network that goes by its name may lie beside a folder of that name.
        if isinstance(value, str) and (Path(value).is_file() or key == "prompts"):
            found.append(override(key, str(Path(value).absolute())))
    return found


def _joined(there: Corpus, new: Corpus) -> Corpus:
    """What is there, and what is new; a passage that now comes from elsewhere says so."""
    again = {passage.id: passage for passage in new}
    documents = {passage.source for passage in new if _is_chunk(passage)}
    for known in there:
        if known.source in documents and _is_chunk(known) and known.id not in again:
            raise _changed(known)
        passage = again.setdefault(known.id, known)
        if (known.title, known.text) != (passage.title, passage.text):
            raise _changed(known)
    return Corpus([*(again[id] for id in there.ids), *(p for p in new if p.id not in there)])


def _is_chunk(passage: Passage) -> bool:
    """Whether it was cut from a document in a folder, whose name its id begins with."""
    return bool(passage.source) and passage.id.startswith(f"{passage.source}#")


def _changed(known: Passage) -> DataError:
    if _is_chunk(known):
        return DataError(
            f"The index holds another {known.source!r}, cut into other passages or with another "
            f"text ({known.id!r} differs). Rename the new one, read it with the same "
            "dataset.chunk_size, or index all documents again without adding."
        )
    return DataError(
        f"The index holds another passage with the id {known.id!r} "
        f"(from {known.source or 'an unnamed source'}). Rename the new one, "
        "or index all documents again without adding."
    )


def _describe(folder: Path) -> Mapping[str, Any]:
    path = folder / DESCRIPTION
    if not path.is_file():
        raise ArtifactError(
            f"There is no index in {folder} (no {DESCRIPTION}). Build one with: "
            f"rag-research index DOCUMENTS --out {folder}"
        )
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ArtifactError(
            f"{path} is not readable JSON ({error}). Run the index command again; "
            "finished work is kept."
        ) from error
    found = description.get("format") if isinstance(description, dict) else None
    if found != FORMAT:
        raise ArtifactError(
            f"{path} has the format {found!r}, this version reads {FORMAT}. "
            "Run the index command again."
        )
    return description  # type: ignore[no-any-return]
