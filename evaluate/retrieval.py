"""Compare retrievers: ``python evaluate/retrieval.py dataset=jsonl dataset.path=FOLDER``.

Prints recall and full-chain recall of BM25, dense and hybrid retrieval. Takes the settings of
``evaluate/run.py`` that matter here: ``dataset``, ``encoder``, ``dense``, ``device``,
``run.store``, ``evaluation.recall_at``. Arguments may start with ``--``.
"""

import sys

from rag_research.config.compose import compose_experiment
from rag_research.errors import RagResearchError
from rag_research.evaluation.rankings import passage_retrievers, retrieval_table, score_retrievers
from rag_research.registry import DATASETS, ENCODERS
from rag_research.runtime.artifacts import ArtifactStore


def main(arguments: list[str]) -> int:
    """Index, search, print the table."""
    try:
        config = compose_experiment([argument.lstrip("-") for argument in arguments])
        dataset = DATASETS.get(config.dataset.name)(config.dataset).load()
        encoder = ENCODERS.get(config.encoder.name)(config.encoder)
        store = ArtifactStore(config.run.store)
        retrievers = passage_retrievers(dataset, config.dense, encoder, store)
        evaluation = config.evaluation
        scores = score_retrievers(
            retrievers,
            dataset.questions,
            evaluation.recall_at,
            evaluation.bootstrap_samples,
            config.seed,
        )
    except RagResearchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(retrieval_table(dataset, scores))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
