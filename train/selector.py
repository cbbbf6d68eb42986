"""Train the path selector: ``python train/selector.py data.questions=FILE``.

Settings are those of ``configs/selector.yaml``. Leaves logs, ``history.jsonl``,
``summary.json`` and Lightning checkpoints in ``out``, and the network of the best epoch with its
card in ``export``. Goes on with ``trainer.resume=runs/selector/last.ckpt``.
"""

import sys

from rag_research.config.build import build
from rag_research.config.compose import compose_dict
from rag_research.errors import RagResearchError
from rag_research.training.selector_config import SelectorTrainingConfig
from rag_research.training.selector_module import MONITOR
from rag_research.training.selector_run import export_selector, selector_parts
from rag_research.training.trainers import train_and_export


def main(arguments: list[str]) -> int:
    """Compose, train, export, print the validation figures."""
    try:
        words = [argument.lstrip("-") for argument in arguments]
        config = build(SelectorTrainingConfig, compose_dict(words, name="selector"))
        module, data = selector_parts(config)
        done = train_and_export(module, data, config, MONITOR, export_selector)
    except RagResearchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if done is None:  # a debug run
        return 0
    path, figures = done
    print(path)
    for dataset, found in figures.items():
        print(dataset, " ".join(f"{name}={value}" for name, value in found.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
