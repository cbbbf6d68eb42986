"""Run a wandb sweep file on this machine: ``python evaluate/sweep.py FILE workers=2 trials=12``.

``FILE`` is a path or a name in ``configs/sweep``. ``out``, ``workers``, ``trials``,
``search_seed`` and ``failures`` steer the sweep; every other setting is given to each trial. The
same command goes on after an interruption. ``--register`` registers the file on a wandb server
instead. Exits with 1 if a trial failed, and with 2 if the sweep could not be run.
"""

import sys

from rag_research.cli import main

if __name__ == "__main__":
    sys.exit(main(["sweep", *sys.argv[1:]]))
