"""Evaluate systems: ``python evaluate/run.py system=t2rag dataset=sample_world limit=20``.

``system`` may be a comma list; the systems then share the loaded models and end in one table.
Arguments may start with ``--``. Exits with 1 if a question failed or the budget ran out, and
with 2 if the run could not be done.
"""

import sys

from rag_research.cli import main
from rag_research.commands import plain_words

if __name__ == "__main__":
    sys.exit(main(["evaluate", *plain_words(sys.argv[1:])]))
