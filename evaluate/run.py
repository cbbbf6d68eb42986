"""Evaluate systems: ``python evaluate/run.py system=t2rag dataset=sample_world limit=20``.

``system`` may be a comma list; the systems then share the loaded models and end in one table.
Arguments may start with ``--``. Exits with 1 if a question failed or the budget ran out, and
with 2 if the run could not be done.
"""

import sys

from rag_research.errors import RagResearchError
from rag_research.evaluation.command import evaluate_all, experiments
from rag_research.evaluation.dry_run import estimate
from rag_research.evaluation.table import table


def main(arguments: list[str]) -> int:
    """Run, print the table, and say how it went."""
    try:
        configs = experiments(arguments)
        if configs[0].run.dry_run:
            print("\n\n".join(str(estimate(config)) for config in configs))
            return 0
        results = evaluate_all(configs)
    except RagResearchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(table(results))
    return int(any(result.failed or result.partial for result in results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
