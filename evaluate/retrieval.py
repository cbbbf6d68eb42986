"""Compare retrievers: ``python evaluate/retrieval.py dataset=jsonl dataset.path=FOLDER``.

Prints recall and full-chain recall of BM25, dense and hybrid retrieval. With
``selectors=[selector-minilm,FILE]`` path selectors and their baselines are compared on the same
candidate graphs, with paired differences from the first one, recall by tokens, ranks after each
stage and times; ``training.questions=FILE`` adds gradient boosting, and ``run.out=FOLDER`` keeps
tables, plots and ranks. Takes the settings of ``evaluate/run.py`` that matter here: ``dataset``,
``encoder``, ``dense``, ``device``, ``limit``, ``shuffle``, ``run.store``, ``run.out``,
``evaluation.recall_at``, ``evaluation.bootstrap_samples``. Arguments may start with ``--``.
"""

import sys

from rag_research.config.build import build
from rag_research.config.compose import compose_dict
from rag_research.evaluation.path_config import RetrievalConfig
from rag_research.evaluation.rankings import (
    choose_gold_questions,
    passage_retrievers,
    retrieval_table,
    score_retrievers,
)
from rag_research.registry import DATASETS, ENCODERS
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.runtime.exit_codes import run_script


def run(settings: list[str]) -> int:
    """Index, search, print the tables."""
    config = build(RetrievalConfig, compose_dict(settings, "retrieval"))
    dataset = DATASETS.get(config.dataset.name)(config.dataset).load()
    encoder = ENCODERS.get(config.encoder.name)(config.encoder)
    if config.selectors:
        from rag_research.evaluation.path_run import compare_paths

        print(compare_paths(config, dataset, encoder))
        return 0
    questions = choose_gold_questions(dataset.questions, config)
    retrievers = passage_retrievers(dataset, config.dense, encoder, ArtifactStore(config.run.store))
    evaluation = config.evaluation
    scores = score_retrievers(
        retrievers, questions, evaluation.recall_at, evaluation.bootstrap_samples, config.seed
    )
    print(retrieval_table(dataset, scores))
    return 0


def main(arguments: list[str]) -> int:
    """:func:`run`, with help and errors in words."""
    return run_script(__doc__, run, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
