"""Ablate a system: ``python evaluate/ablate.py system=t2rag dataset=sample_world limit=20``.

Runs the system and each of its ablations (``configs/ablation/SYSTEM``, or
``ablations=[single_round,no_chunks]``) and prints paired differences and costs;
``--format text|markdown|latex|json``. Settings may start with ``--``. Exits with 1 if a question
failed or the budget ran out, and with 2 if a run could not be done.
"""

import sys

from rag_research.cli import main
from rag_research.commands import plain_words

if __name__ == "__main__":
    sys.exit(main(["ablate", *plain_words(sys.argv[1:])]))
