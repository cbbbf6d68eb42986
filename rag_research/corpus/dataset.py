"""The protocol of a dataset loader."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from rag_research.corpus.corpus import Corpus
from rag_research.types import Question


@dataclass(frozen=True, slots=True)
class Dataset:
    """A corpus and the questions over it; ``questions`` may be empty."""

    name: str
    corpus: Corpus
    questions: Sequence[Question]


class DatasetLoader(Protocol):
    """One file format. ``Config`` holds the paths and options; see ``DATASETS``."""

    Config: ClassVar[type[Any]]

    def __init__(self, config: Any) -> None: ...

    def load(self) -> Dataset:
        """Read everything.

        Raises:
            DataError: names the file, the line and what is wrong with it.
        """
        ...
