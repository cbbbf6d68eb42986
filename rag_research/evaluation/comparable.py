"""Which finished runs may be set against each other: same questions, corpus and metrics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rag_research.config.fingerprint import fingerprint
from rag_research.errors import DataError
from rag_research.evaluation.results import Results
from rag_research.types import Question


def asked_fingerprint(questions: Sequence[Question]) -> str:
    """Sixteen hex digits over ids, wordings and gold data of the questions of a run."""
    return fingerprint([[q.id, q.text, q.answers, q.gold_passages] for q in questions])


def require_comparable(runs: Sequence[Results]) -> None:
    """Check runs against the first one, so that a difference is due to the systems.

    Args:
        runs: finished ones; fewer than two always pass.

    Raises:
        DataError: a run ended early, or runs were asked other questions, over another corpus
            or with other versions of a metric. The message names all that differs.
    """
    for run in runs:
        if len(runs) > 1 and run.partial:
            raise DataError(
                f"{run.directory} cannot be compared: its budget ended after {run.asked} of "
                f"{run.questions} questions. Run it again with a larger budget."
            )
    for other in runs[1:]:
        found = list(mismatches(runs[0], other))
        if found:
            raise DataError(
                f"{runs[0].directory} and {other.directory} cannot be compared: "
                f"{'; '.join(found)}. Compare runs on the same data set, with the same seed, "
                "limit, shuffle and version of the package."
            )


def mismatches(first: Results, other: Results) -> Iterator[str]:
    """What forbids to compare two runs, one phrase each; facts a run does not name pass."""
    for phrase, key, sizes in (
        ("they are on different data sets", "name", None),
        ("their corpora differ", "corpus_fingerprint", "passages"),
        ("they were asked different questions, or the gold data differ", "asked_fingerprint", None),
    ):
        facts = [run.provenance.get("dataset", {}) for run in (first, other)]
        if all(key in own for own in facts) and facts[0][key] != facts[1][key]:
            shown = [str(own[key]) for own in facts]
            if sizes is not None:
                shown = [
                    f"{own.get(sizes)} {sizes}, {text}"
                    for own, text in zip(facts, shown, strict=True)
                ]
            elif key == "asked_fingerprint":
                counts = (first.questions, other.questions)
                shown = [f"{n} questions, {text}" for n, text in zip(counts, shown, strict=True)]
            yield f"{phrase} ({shown[0]} against {shown[1]})"
    versions = [run.provenance.get("metric_versions", {}) for run in (first, other)]
    for name in sorted(set(versions[0]) & set(versions[1])):
        if versions[0][name] != versions[1][name]:
            yield f"{name} has version {versions[0][name]} against {versions[1][name]}"


def distinct_names(runs: Sequence[Results]) -> list[str]:
    """Short names that tell runs apart: of the systems, else of the directories."""
    candidates = (
        [run.name for run in runs],
        [run.directory.resolve().name for run in runs],
        [str(run.directory) for run in runs],
    )
    return next((n for n in candidates if len(set(n)) == len(n)), candidates[-1])


def under_distinct_names(runs: Sequence[Results]) -> list[Results]:
    """The same runs, each under its :func:`distinct_names` name."""
    return [replace(run, name=name) for run, name in zip(runs, distinct_names(runs), strict=True)]
