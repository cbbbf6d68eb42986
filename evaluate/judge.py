"""Compare runs in pairs: ``python evaluate/judge.py RUN RUN [RUN...] llm=qwen_1_5b``.

A RUN is the directory of a finished evaluation. A frozen model says which answer is better, in
both orders; printed are win rates, ELO, Bradley-Terry and position bias (see
docs/broad_evaluation.md). Settings may start with ``--``. Exits with 1 if a pair could not be
judged or the budget ran out, and with 2 if the runs cannot be compared.
"""

import sys

from rag_research.cli import main
from rag_research.commands import plain_words

if __name__ == "__main__":
    sys.exit(main(["judge", *plain_words(sys.argv[1:])]))
