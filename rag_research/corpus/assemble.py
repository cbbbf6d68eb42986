"""The last step of every loader: check what was read and put it together."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from rag_research.corpus.corpus import Corpus
from rag_research.corpus.dataset import Dataset
from rag_research.errors import DataError, did_you_mean
from rag_research.types import Passage, Question

logger = logging.getLogger(__name__)


def assemble(
    name: str, passages: Iterable[Passage], questions: Sequence[Question], source: object
) -> Dataset:
    """A dataset whose parts fit together.

    Passages without text are kept, because their titles can still be found, and are reported
    in one warning.

    Args:
        name: of the dataset, for reports.
        passages: in corpus order.
        questions: may be empty.
        source: the file or folder it came from, for messages.

    Raises:
        DataError: no passage at all, repeated ids, a question that names a passage the corpus
            does not have.
    """
    corpus = Corpus(passages)
    if not len(corpus):
        raise DataError(f"{source}: there is no passage in it. Expected at least one.")
    empty = [p.id for p in corpus if not p.text.strip()]
    if empty:
        logger.warning(
            "%s: %d of %d passages have no text (the first: %r). They are kept.",
            source,
            len(empty),
            len(corpus),
            empty[0],
        )
    seen: set[str] = set()
    for question in questions:
        if question.id in seen:
            raise DataError(
                f"{source}: two questions share the id {question.id!r}. Rename or drop one."
            )
        seen.add(question.id)
        for id in question.gold_passages:
            if id not in corpus:
                raise DataError(
                    f"{source}: question {question.id!r} names the gold passage {id!r}, which "
                    f"the corpus does not have.{did_you_mean(id, corpus.ids)} "
                    "Use the corpus file these questions were made for."
                )
    return Dataset(name, corpus, tuple(questions))
