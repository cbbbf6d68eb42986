"""Train the boundary network: ``python train/boundary.py mode=light data.folder=FOLDER``.

Settings are those of ``configs/boundary.yaml``. Leaves logs, ``history.jsonl``,
``summary.json`` and Lightning checkpoints in ``out``, and the chosen network with its card in
``export``. Goes on with ``trainer.resume=runs/boundary/last.ckpt``.
"""

import sys

from rag_research.runtime.exit_codes import run_script
from rag_research.training.boundary_config import BoundaryTrainingConfig
from rag_research.training.boundary_run import MONITOR, boundary_parts, export_boundary
from rag_research.training.command import train_command


def run(settings: list[str]) -> int:
    """Train the boundary network."""
    return train_command(
        settings, "boundary", BoundaryTrainingConfig, boundary_parts, MONITOR, export_boundary
    )


def main(arguments: list[str]) -> int:
    """:func:`run`, with help and errors in words."""
    return run_script(__doc__, run, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
