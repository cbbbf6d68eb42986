"""Show finished runs: ``python evaluate/report.py RUN [RUN...] --out report.html``.

Writes one HTML file that opens from disk: tables with intervals, published figures, costs, and
the trace of every question. A RUN is the folder of a finished evaluation; folders that an
ablation, a sweep or ``evaluate/retrieval.py`` wrote add their plots. Exits with 2 if the runs
cannot be compared.
"""

import sys

from rag_research.cli import main

if __name__ == "__main__":
    sys.exit(main(["report", *sys.argv[1:]]))
