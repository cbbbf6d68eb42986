"""What a selector is trained and chosen on: the graphs of each data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_research.errors import DataError
from rag_research.graph.path_candidates import CandidateConfig
from rag_research.graph.path_data import PathData
from rag_research.training.question_pairs import question_pairs
from rag_research.training.selector_config import SelectorDataConfig
from rag_research.training.selector_graphs import candidate_graphs
from rag_research.training.selector_questions import pool, read_questions, split_questions
from rag_research.training.untitled import without_titles


@dataclass(frozen=True, slots=True)
class DatasetGraphs:
    """Graphs of one data set.

    Args:
        train: those with a gold candidate, of questions, of pairs of them, and of the same
            questions over passages without titles.
        validation: all.
        train_questions: how many training questions there were.
        pairs: how many pairs of them.
        untitled: how many graphs over passages without titles.
        passages: in the pool they are searched in.
        gold: gold passages of all its questions.
        missed: those of them that are no candidates.
    """

    train: Sequence[PathData]
    validation: Sequence[PathData]
    train_questions: int
    pairs: int
    untitled: int
    passages: int
    gold: int
    missed: int


def dataset_graphs(
    config: SelectorDataConfig, candidates: CandidateConfig, encoder: Any, seed: int
) -> dict[str, DatasetGraphs]:
    """Read questions, split and pair them, and make the graphs that are not cached.

    Args:
        config: see :class:`SelectorDataConfig`.
        candidates: how far the graphs reach.
        encoder: frozen; one that shows its tokens.
        seed: of the split and the pairs.

    Returns:
        By name of the data set.

    Raises:
        DataError: no training question has a gold passage among its candidates.
    """
    questions = read_questions(Path(config.questions), config.leave_out)
    training, _ = split_questions(questions, config.validation, seed, config.limit)
    _, held = split_questions(questions, config.validation, seed)
    train_ids, held_ids = ({(q.dataset, q.id) for q in part} for part in (training, held))
    folders = (Path(config.store), Path(config.cache))
    found: dict[str, DatasetGraphs] = {}
    for dataset in sorted({q.dataset for q in questions}):
        own = [q for q in questions if q.dataset == dataset]
        passages = pool(questions, dataset, config.smallest_pool)
        asked = [q for q in own if (dataset, q.id) in train_ids]
        pairs = question_pairs(asked, config.pairs, seed)
        graphs = candidate_graphs(own, passages, encoder, candidates, *folders)
        joined = candidate_graphs(pairs, passages, encoder, candidates, *folders)
        again = own if config.untitled else []
        bare_passages = without_titles(passages, config.untitled)
        bare = candidate_graphs(again, bare_passages, encoder, candidates, *folders)
        untitled = [bare[q.id] for q in asked if q.id in bare]
        train = [*(graphs[q.id] for q in asked), *joined.values(), *untitled]
        found[dataset] = DatasetGraphs(
            [graph for graph in train if graph.y.any()],
            [graphs[q.id] for q in own if (dataset, q.id) in held_ids],
            len(asked),
            len(pairs),
            len(untitled),
            len(passages),
            sum(len(q.gold) for q in own),
            int(sum(int(graph.missed) for graph in graphs.values())),
        )
    if not any(part.train for part in found.values()):
        raise DataError(
            f"{config.questions}: no training question has a gold passage among its "
            "candidates. Raise candidates.found, or check is_gold."
        )
    return found
