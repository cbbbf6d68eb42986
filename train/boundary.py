"""Train the boundary network: ``python train/boundary.py mode=light data.folder=FOLDER``.

Settings are those of ``configs/boundary.yaml``. Leaves logs and Lightning checkpoints in
``out``, and the chosen network with its card in ``export``. Goes on with
``trainer.resume=runs/boundary/last.ckpt``.
"""

import sys
from pathlib import Path

from rag_research.config.build import build
from rag_research.config.compose import compose_dict
from rag_research.errors import RagResearchError
from rag_research.training.boundary_config import BoundaryTrainingConfig
from rag_research.training.boundary_run import MONITOR, boundary_parts, export_boundary
from rag_research.training.trainers import fit


def main(arguments: list[str]) -> int:
    """Compose, train, export, print the validation figures."""
    try:
        words = [argument.lstrip("-") for argument in arguments]
        config = build(BoundaryTrainingConfig, compose_dict(words, name="boundary"))
        module, data = boundary_parts(config)
        if not fit(module, data, config.trainer, Path(config.out), MONITOR):
            return 0
        path, figures = export_boundary(module, data, config)
    except RagResearchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(path)
    for kind, found in figures.items():
        print(kind, " ".join(f"{name}={value}" for name, value in found.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
