"""One run of the comparison of path selectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rag_research.corpus.dataset import Dataset
from rag_research.evaluation.path_boosting import LINKED_CANDIDATES, Boosting, load_boosting
from rag_research.evaluation.path_comparison import PathComparer
from rag_research.evaluation.path_config import RetrievalConfig
from rag_research.evaluation.path_report import markdown, summary, write_report
from rag_research.evaluation.rankings import choose_gold_questions
from rag_research.graph.selector_checkpoint import load_selector
from rag_research.runtime.artifacts import ArtifactStore


def compare_paths(config: RetrievalConfig, dataset: Dataset, encoder: Any) -> str:
    """Compare, write the report into ``run.out`` if there is one, and return its text.

    Args:
        config: names at least one selector.
        dataset: with gold passages.
        encoder: frozen; one that shows its tokens.
    """
    import torch

    questions = choose_gold_questions(dataset.questions, config)
    torch.set_num_threads(config.threads)
    store = ArtifactStore(config.run.store)
    labels = _labels(config.selectors)
    selectors = [
        replace(load_selector(name), name=label)
        for name, label in zip(config.selectors, labels, strict=True)
    ]
    boosting: list[Boosting] = []
    if config.training is not None:
        reach = {
            "gradient_boosting": selectors[0].candidates,
            "link_boosting": LINKED_CANDIDATES,
        }
        boosting = [
            load_boosting(name, config.training, candidates, encoder, store, config.seed)
            for name, candidates in reach.items()
        ]
    evaluation = config.evaluation
    comparer = PathComparer(
        dataset.corpus, encoder, store, selectors, boosting, evaluation.recall_at
    )
    outcome = comparer.compare(questions)
    told = summary(
        outcome, selectors[0].name, dataset.name, evaluation.bootstrap_samples, config.seed
    )
    text = markdown(told, outcome)
    if config.run.out:
        write_report(told, text, outcome, Path(config.run.out))
    return text


def _labels(names: Sequence[str]) -> list[str]:
    """Names of files without folder and ending; with their folder where two would be alike."""
    stems = [Path(name).stem for name in names]
    return [
        stem if stems.count(stem) == 1 else f"{Path(name).absolute().parent.name}/{stem}"
        for name, stem in zip(names, stems, strict=True)
    ]
