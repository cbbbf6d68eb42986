"""Run a paper's table: ``python evaluate/experiment.py t2rag_table1 size=small``.

The tables are the files of ``configs/paper``; the published figures are printed beside.
``datasets=[2wiki]`` and ``rows=[T2RAG]`` choose some, other settings hold for every run,
``--format text|markdown|latex|json``. Settings may start with ``--``. Exits with 1 if a question
failed or the budget ran out, and with 2 if a run could not be done.
"""

import sys

from rag_research.cli import main
from rag_research.commands import plain_words

if __name__ == "__main__":
    sys.exit(main(["experiment", *plain_words(sys.argv[1:])]))
