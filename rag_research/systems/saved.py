"""An index in a folder: build it once, add to it, ask it from any later process.

The folder is the root of an :class:`~rag_research.runtime.artifacts.ArtifactStore`, plus
``index.json``, which names the corpus artefact and the settings the index was built with.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_research import __version__
from rag_research.config.build import to_dict
from rag_research.config.compose import compose_experiment, override
from rag_research.config.schema import ExperimentConfig
from rag_research.corpus.corpus import Corpus
from rag_research.errors import ArtifactError, DataError
from rag_research.runtime.artifacts import ArtifactStore, differences
from rag_research.runtime.loops import run_async
from rag_research.runtime.seeding import seed_everything
from rag_research.systems.assemble import build_parts, build_system
from rag_research.systems.base import Index, System
from rag_research.trace import Trace
from rag_research.types import Answer

DESCRIPTION = "index.json"
FORMAT = 1


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


def build_index(
    corpus: Corpus, folder: Path | str, overrides: Sequence[str] = (), *, add: bool = False
) -> SavedIndex:
    """Index ``corpus`` into ``folder``; finished work of an earlier call is used again.

    Args:
        corpus: all passages of the index, or with ``add`` further ones.
        folder: created when missing.
        overrides: settings such as ``system=dense_rag`` or ``system.k=3``.
        add: keep the passages that are there, and their settings unless overridden.

    Raises:
        DataError: with ``add``, a passage has the id of another one that is there.
        ArtifactError: with ``add``, there is no index in the folder.
    """
    folder = Path(folder)
    settings = list(overrides)
    if add:
        known = _describe(folder)
        settings = merged(known["overrides"], settings)
        corpus = _joined(Corpus.load(folder / known["corpus"]), corpus)
    config = compose_experiment(settings)
    if config.prompts:  # the index may be asked from another working folder
        settings = merged(settings, [override("prompts", str(Path(config.prompts).absolute()))])
        config = compose_experiment(settings)
    store = ArtifactStore(folder)
    saved = corpus.save(store)
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
    draft = folder / f".{DESCRIPTION}"
    draft.write_text(json.dumps(description, indent=2, ensure_ascii=False) + "\n", "utf-8")
    draft.replace(folder / DESCRIPTION)
    return opened


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
    config = compose_experiment(merged(known["overrides"], overrides))
    corpus = Corpus.load(folder / known["corpus"])
    try:
        return _open(folder, config, corpus, ArtifactStore(folder, read_only=True))
    except ArtifactError as error:
        before = compose_experiment(known["overrides"])
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
    folder: Path, config: ExperimentConfig, corpus: Corpus, store: ArtifactStore
) -> SavedIndex:
    seed_everything(config.seed)
    system = build_system(config, build_parts(config, store))
    return SavedIndex(folder, config, system, system.index(corpus, store))


def _joined(there: Corpus, new: Corpus) -> Corpus:
    """What is there, and what is new; a passage that now comes from elsewhere says so."""
    again = {passage.id: passage for passage in new}
    for known in there:
        passage = again.setdefault(known.id, known)
        if (known.title, known.text) != (passage.title, passage.text):
            raise DataError(
                f"The index holds another passage with the id {passage.id!r} "
                f"(from {known.source or 'an unnamed source'}). Rename the new one, "
                "or index all documents again without adding."
            )
    return Corpus([*(again[id] for id in there.ids), *(p for p in new if p.id not in there)])


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
