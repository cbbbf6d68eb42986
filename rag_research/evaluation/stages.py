"""Does the graph do anything? Ranks of the gold passages after each stage of pathfinding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_research.errors import ConfigError, DataError
from rag_research.evaluation.retrieval import full_chain, recall_at_k
from rag_research.evaluation.statistics import Interval, bootstrap_interval
from rag_research.graph.pathfinding import find_paths
from rag_research.graph.topology import Topology
from rag_research.solve.question_entities import spelled_entities
from rag_research.systems.base import Index
from rag_research.systems.thread_index import pooled
from rag_research.systems.threadrag import ThreadRAG
from rag_research.types import Question

STAGES = ("retrieval", "anchors", "diffusion", "selection", "connectivity")


@dataclass(frozen=True, slots=True)
class StageRanks:
    """One question.

    Args:
        question: its id.
        rankings: passage ids after each stage, as :data:`STAGES` for ThreadRAG, best first; a
            passage that a stage dropped is not there.
        gold: rank of each gold passage after each stage, from 1; ``None`` where it is gone.
    """

    question: str
    rankings: Mapping[str, Sequence[str]]
    gold: Mapping[str, Mapping[str, int | None]]


def stage_ranks(system: ThreadRAG, index: Index, question: Question) -> StageRanks:
    """Run the first round of ThreadRAG, without a language model, and look after each stage.

    Passages are ranked by their best chunk after retrieval, by the best anchor score of their
    spans after ``anchors``, then by the highest energy of the spans that are left. Entities of
    the question are found by spelling.

    Args:
        system: its settings say how.
        index: of the same system.
        question: with its gold passages.
    """
    config, library = system.config, index.data["library"]
    names = spelled_entities(question.text)
    search = system.search(index)
    queries = search.first_queries(question.text, names)
    hits = pooled(search.search(queries, config.documents))
    hits = hits[: config.documents]
    topology = Topology(config.topology)
    topology.add(*library.spans([hit.id for hit in hits]))
    scores = library.document_scores(hits)
    query = system.query(question.text, names)
    graph = topology.data()
    learned = search.span_scores(graph.nodes)
    paths = find_paths(graph, query, config.pathfinding, scores, learned)
    found = paths.candidates
    every = range(len(found.energy))

    def ranking(numbers: Iterable[int], values: Any) -> list[str]:
        order = sorted(numbers, key=lambda n: (-values[n], n))
        return list(dict.fromkeys(library.passage_of(found.graph.nodes[n].span) for n in order))

    rankings = {
        "retrieval": list(dict.fromkeys(library.chunks[hit.id].passage_id for hit in hits)),
        "anchors": ranking(every, found.scores),
        "diffusion": ranking(found.by_energy(), found.energy),
        "selection": ranking(paths.selected, found.energy),
        "connectivity": ranking(paths.kept, found.energy),
    }
    gold = {
        stage: {id: ids.index(id) + 1 if id in ids else None for id in question.gold_passages}
        for stage, ids in rankings.items()
    }
    return StageRanks(question.id, rankings, gold)


def score_stages(
    ranks: Sequence[StageRanks],
    recall_at: Sequence[int] = (2, 5),
    samples: int = 1000,
    seed: int = 0,
) -> dict[str, dict[str, Interval]]:
    """Recall, full-chain recall and share of gold passages left, after each stage.

    Args:
        ranks: questions with gold passages.
        recall_at: cut-offs.
        samples: bootstrap resamples.
        seed: of the bootstrap.

    Raises:
        DataError: no question has gold passages.
    """
    asked = [rank for rank in ranks if any(rank.gold.values())]
    if not asked:
        raise DataError("No question names gold passages, so stages cannot be compared.")
    scored: dict[str, dict[str, Interval]] = {}
    for stage in asked[0].rankings:
        rows: dict[str, list[float]] = {}
        for rank in asked:
            ids, gold = rank.rankings[stage], list(rank.gold[stage])
            for k in recall_at:
                rows.setdefault(f"recall@{k}", []).append(recall_at_k(ids, gold, k))
            for k in recall_at:
                rows.setdefault(f"full_chain@{k}", []).append(full_chain(ids, gold, k))
            rows.setdefault("gold left", []).append(recall_at_k(ids, gold, max(len(ids), 1)))
        scored[stage] = {n: bootstrap_interval(v, samples, seed) for n, v in rows.items()}
    return scored


def stages_table(scored: Mapping[str, Mapping[str, Interval]]) -> str:
    """A markdown table in percent, ± half the 95 % interval."""
    names = list(next(iter(scored.values())))
    lines = [f"| after | {' | '.join(names)} |", f"|---|{'---:|' * len(names)}"]
    for stage, row in scored.items():
        cells = [f"{100 * i.mean:.1f} ±{100 * i.half_width:.1f}" for i in row.values()]
        lines.append(f"| {stage} | {' | '.join(cells)} |")
    return "\n".join(lines)


def as_threadrag(system: Any) -> ThreadRAG:
    """``system``, when it is one that finds paths.

    Raises:
        ConfigError: it is another system.
    """
    if not isinstance(system, ThreadRAG):
        raise ConfigError(
            f"system: got {system.config.name!r}; stages are those of threadrag. "
            "Say system=threadrag."
        )
    return system
