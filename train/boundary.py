"""Train the boundary network: ``python train/boundary.py mode=light data.folder=FOLDER``.

Settings are those of ``configs/boundary.yaml``. Leaves logs, ``history.jsonl``,
``summary.json`` and Lightning checkpoints in ``out``, and the chosen network with its card in
``export``. Goes on with ``trainer.resume=runs/boundary/last.ckpt``.
"""

import sys

from rag_research.config.build import build
from rag_research.config.compose import compose_dict
from rag_research.errors import RagResearchError
from rag_research.training.boundary_config import BoundaryTrainingConfig
from rag_research.training.boundary_run import MONITOR, boundary_parts, export_boundary
from rag_research.training.trainers import train_and_export


def main(arguments: list[str]) -> int:
    """Compose, train, export, print the validation figures."""
    try:
        words = [argument.lstrip("-") for argument in arguments]
        config = build(BoundaryTrainingConfig, compose_dict(words, name="boundary"))
        module, data = boundary_parts(config)
        done = train_and_export(module, data, config, MONITOR, export_boundary)
    except RagResearchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if done is None:  # a debug run
        return 0
    path, figures = done
    print(path)
    for kind, found in figures.items():
        print(kind, " ".join(f"{name}={value}" for name, value in found.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
