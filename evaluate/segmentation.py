"""Measure segmentation: ``python evaluate/segmentation.py folder=FOLDER passages=FILE``.

With ``folder``, Pk, WindowDiff, F1 and speed of the boundary networks and public peers on sets
with true segments. With ``passages``, how well each way of cutting keeps supporting sentences
whole and findable. Settings are those of ``configs/segmentation.yaml``.
"""

import sys
from pathlib import Path

from rag_research.config.build import build
from rag_research.config.compose import compose_dict
from rag_research.evaluation.equal_lengths import equal_length_pieces
from rag_research.evaluation.segmentation import (
    SegmentationConfig,
    read_set,
    score_set,
    segmentation_table,
    segmenters,
    unit_encoder,
)
from rag_research.evaluation.span_recall import (
    TokenCounter,
    read_evidence,
    recall_table,
    span_recall,
)
from rag_research.runtime.exit_codes import run_script


def intrinsic(config: SegmentationConfig) -> str:
    """The table of cuts against true ones."""
    sets = {name: read_set(config, name) for name in config.sets}
    rows = {}
    for name, segmenter in segmenters(config).items():
        rows[name] = {key: score_set(segmenter, documents) for key, documents in sets.items()}
    return segmentation_table(rows)


def extrinsic(config: SegmentationConfig) -> str:
    """The table of evidence kept and found."""
    documents, questions = read_evidence(
        Path(str(config.passages)), config.passages_of, config.questions
    )
    encoder, tokens = unit_encoder(config).encoder, TokenCounter(str(config.model))
    splits = equal_length_pieces(config, documents).items()
    return recall_table(
        {
            name: span_recall(documents, pieces, questions, encoder, tokens, config.budgets)
            for name, pieces in splits
        }
    )


def run(settings: list[str]) -> int:
    """Print the tables that the settings ask for."""
    config = build(SegmentationConfig, compose_dict(settings, name="segmentation"))
    for wanted, table in ((config.folder, intrinsic), (config.passages, extrinsic)):
        if wanted is not None:
            print(table(config), end="\n\n")
    return 0


def main(arguments: list[str]) -> int:
    """:func:`run`, with help and errors in words."""
    return run_script(__doc__, run, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
