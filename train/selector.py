"""Train the path selector: ``python train/selector.py data.questions=FILE``.

Settings are those of ``configs/selector.yaml``. Leaves logs, ``history.jsonl``,
``summary.json`` and Lightning checkpoints in ``out``, and the network of the best epoch with its
card in ``export``. Goes on with ``trainer.resume=runs/selector/last.ckpt``.
"""

import sys

from rag_research.runtime.exit_codes import run_script
from rag_research.training.command import train_command
from rag_research.training.selector_config import SelectorTrainingConfig
from rag_research.training.selector_module import MONITOR
from rag_research.training.selector_run import export_selector, selector_parts


def run(settings: list[str]) -> int:
    """Train the path selector."""
    return train_command(
        settings, "selector", SelectorTrainingConfig, selector_parts, MONITOR, export_selector
    )


def main(arguments: list[str]) -> int:
    """:func:`run`, with help and errors in words."""
    return run_script(__doc__, run, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
