"""``rag-research index``: documents or a corpus into a folder that can be asked."""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Sequence
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
    from rag_research.systems.saved import build_index, merged, settings_of

    started = time.perf_counter()
    before, read_before = settings_of(arguments.out)
    chosen = [s for s in arguments.settings if s.startswith(("dataset=", "dataset."))]
    others = merged(before, [s for s in arguments.settings if s not in chosen])
    if kept := [setting for setting in before if setting in others]:
        print(f"Settings of before: {' '.join(kept)}")
    loader, *reading = _reading(arguments.source, chosen, read_before)
    wanted = [loader, *reading] if loader in chosen else reading
    corpus = load_source(arguments.source, wanted).corpus
    saved = build_index(
        corpus, arguments.out, others, add=arguments.add, reading=[loader, *reading]
    )
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


def _reading(source: str, chosen: Sequence[str], before: Sequence[str]) -> list[str]:
    """The loader as ``dataset=NAME``, and its settings: those given, and those of before.

    Args:
        source: what the user pointed at.
        chosen: ``dataset=...`` and ``dataset.key=value``.
        before: what this gave for the index that is there; counts for the same loader only.
    """
    from rag_research.systems.saved import merged

    path = Path(source)
    own = f"dataset={_loader(path) if path.exists() else source}"
    loader = next((setting for setting in chosen if setting.startswith("dataset=")), own)
    earlier = before[1:] if before[:1] == [loader] else []
    return [loader, *merged(earlier, [setting for setting in chosen if setting != loader])]


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
