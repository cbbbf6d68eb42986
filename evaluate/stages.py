"""Ranks of gold passages by stage: ``python evaluate/stages.py dataset=2wiki limit=200``.

Prints recall after retrieval, anchors, diffusion, selection and connectivity of ThreadRAG's
first round; no language model is asked. Takes the settings of ``evaluate/run.py``; with
``run.out=FOLDER`` the ranks of every question are written to ``stages.jsonl`` there.
``system.documents=20`` shows more of what the graph does with the order.
"""

import json
import sys
from pathlib import Path

from rag_research.config.compose import compose_experiment
from rag_research.evaluation.rankings import choose_gold_questions
from rag_research.evaluation.stages import as_threadrag, score_stages, stage_ranks, stages_table
from rag_research.registry import DATASETS
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.runtime.exit_codes import run_script
from rag_research.systems.assemble import build_parts, build_system


def run(settings: list[str]) -> int:
    """Index, look after each stage, print the table."""
    config = compose_experiment(["system=threadrag", *settings])
    dataset = DATASETS.get(config.dataset.name)(config.dataset).load()
    store = ArtifactStore(config.run.store)
    system = as_threadrag(build_system(config, build_parts(config, store)))
    index = system.index(dataset.corpus, store)
    questions = choose_gold_questions(dataset.questions, config)
    ranks = [stage_ranks(system, index, question) for question in questions]
    scored = score_stages(
        ranks, config.evaluation.recall_at, config.evaluation.bootstrap_samples, config.seed
    )
    if config.run.out:
        folder = Path(config.run.out)
        folder.mkdir(parents=True, exist_ok=True)
        rows = ({"id": r.question, "rankings": r.rankings, "gold": r.gold} for r in ranks)
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / "stages.jsonl").write_text(text, encoding="utf-8")
    print(f"{dataset.name}: {len(dataset.corpus)} passages, {len(ranks)} questions")
    print(stages_table(scored))
    return 0


def main(arguments: list[str]) -> int:
    """:func:`run`, with help and errors in words."""
    return run_script(__doc__, run, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
