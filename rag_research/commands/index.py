"""``rag-research index``: documents or a corpus into a folder that can be asked."""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_research.commands import Subparsers, add_settings
from rag_research.corpus.dataset import Dataset
from rag_research.errors import DataError
from rag_research.types import Usage

logger = logging.getLogger(__name__)


def add_to(commands: Subparsers) -> None:
    """Add this command to the parser."""
    parser = commands.add_parser(
        "index",
        help="index documents or a corpus",
        description="Index documents or a corpus into a folder. Run it again to go on after an "
        "interruption, or when documents have changed: finished work is used again, and so are "
        "the settings, unless they are given anew.",
    )
    parser.add_argument(
        "source",
        help="a folder of documents, one document, a corpus .jsonl file, a folder with it, or the "
        "name of a configured data set such as sample_world",
    )
    parser.add_argument("--out", required=True, type=Path, help="folder of the index")
    parser.add_argument(
        "--add", action="store_true", help="keep the passages that the index already holds"
    )
    add_settings(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Load, index, report."""
    from rag_research.systems.saved import build_index, index_lock, merged, settings_of

    started = time.perf_counter()
    chosen = [s for s in arguments.settings if s.startswith(("dataset=", "dataset."))]
    others = [s for s in arguments.settings if s not in chosen]
    with index_lock(arguments.out):
        before = settings_of(arguments.out)
        source, reading = _reading(arguments.source, chosen, before.reading)
        told = reading[0] in chosen or reading[0] != _own_loader(arguments.source)
        corpus = load_source(arguments.source, reading if told else reading[1:]).corpus
        if not any(s.startswith("experiment=") for s in others):  # which stands for many of them
            others = merged(before.overrides, others)
        if kept := [s for s in (*others, *reading[1:]) if s not in arguments.settings]:
            print(f"Settings of before: {' '.join(kept)}")
        known = {source: reading}
        saved = build_index(corpus, arguments.out, others, add=arguments.add, reading=known)
    counts = ", ".join(f"{n:,} {name}" for name, n in saved.index.counts.items() if n)
    print(f"{arguments.out}: {counts} ({time.perf_counter() - started:.1f} s)")
    cost = sum(saved.index.usage.values(), Usage())
    if cost.calls:
        print(
            f"LLM: {cost.calls:,} calls, {cost.input_tokens:,} tokens in, "
            f"{cost.output_tokens:,} out, work done earlier included"
        )
    print(f'Ask it: rag-research ask {arguments.out} "your question"')
    return 0


def _reading(
    source: str, chosen: Sequence[str], before: Mapping[str, Sequence[str]]
) -> tuple[str, list[str]]:
    """A source by its whole path, and how it is read: ``dataset=NAME`` and settings of that.

    What is not given is as before: for this source, else for the last one of the same loader.

    Args:
        source: what the user pointed at.
        chosen: ``dataset=...`` and ``dataset.key=value``.
        before: what this gave for the sources of the index that is there.
    """
    from rag_research.systems.saved import merged

    key = str(Path(source).absolute()) if Path(source).exists() else source
    given = [setting for setting in chosen if setting.startswith("dataset=")]
    loader = (given or before.get(key) or [_own_loader(source)])[0]
    alike = [settings for settings in before.values() if settings[0] == loader]
    earlier: Sequence[str] = alike[-1] if alike else ()
    if key in before and before[key][0] == loader:
        earlier = before[key]
    return key, [loader, *merged(earlier[1:], [s for s in chosen if s not in given])]


def _own_loader(source: str) -> str:
    """The loader of a source that is not told another one, as ``dataset=NAME``."""
    path = Path(source)
    return f"dataset={_loader(path) if path.exists() else source}"


def load_source(source: str, settings: Sequence[str] = ()) -> Dataset:
    """Read what the user pointed at.

    Args:
        source: a path, or the name of an option of the group ``dataset``.
        settings: ``dataset=...`` and ``dataset.key=value`` overrides; the first kind chooses
            the loader instead of the form of the path.

    Raises:
        DataError: there is neither such a path nor such a data set.
    """
    from rag_research.config.build import build
    from rag_research.config.compose import compose_dict, config_folder
    from rag_research.registry import DATASETS

    path = Path(source)
    if path.exists():
        chosen = [f"dataset={_loader(path)}", *settings]
        extra: dict[str, Any] = {"path": str(path)}
        if not any(s.startswith("dataset=") for s in settings) and _loader(path) == "jsonl":
            extra["questions"] = None
            _tell_of_documents(path)
    elif (config_folder() / "dataset" / f"{source}.yaml").is_file():
        chosen, extra = [f"dataset={source}", *settings], {}
    else:
        raise DataError(
            f"There is no file or folder {source!r}, and no data set of that name. "
            "Give a folder of documents, one document, a corpus .jsonl file or a data set such as "
            "sample_world."
        )
    values = {**compose_dict(chosen)["dataset"], **extra}
    loader = DATASETS.get(values["name"])
    dataset: Dataset = loader(build(loader.Config, values, "dataset")).load()
    return dataset


def _loader(path: Path) -> str:
    """``jsonl`` for a corpus file or a folder with one, else ``folder``."""
    if path.is_file():
        endings = (".jsonl", ".json", ".jsonl.gz", ".json.gz")
        return "jsonl" if path.name.endswith(endings) else "folder"
    has_corpus = any((path / f"corpus{ending}").is_file() for ending in (".jsonl", ".jsonl.gz"))
    return "jsonl" if has_corpus else "folder"


def _tell_of_documents(folder: Path) -> None:
    """Warn of documents that lie beside the corpus file of a folder and are not indexed."""
    from rag_research.corpus.folder import documents_in, kinds

    documents = documents_in(folder)[0] if folder.is_dir() else []
    if documents:
        logger.warning(
            "%s: indexes corpus.jsonl and passes over the documents beside it: %s. "
            "Pass dataset=folder to index the documents instead.",
            folder,
            kinds(documents),
        )
