"""2WikiMultihopQA in its official format."""

from __future__ import annotations

from dataclasses import dataclass

from rag_research.corpus.dataset import Dataset
from rag_research.corpus.hotpotqa import load_contexts


@dataclass(frozen=True, slots=True)
class TwoWikiConfig:
    """Where the file is.

    Args:
        path: ``dev.json`` or ``train.json`` of 2WikiMultihopQA or a part, plain or gzip.
        first: read only this many questions, and pool only their contexts; ``None`` reads all.
    """

    path: str
    name: str = "two_wiki"
    first: int | None = None


class TwoWiki:
    """Loader of a JSON array of questions in HotpotQA's format plus ``evidences``.

    ``evidences`` (``[[subject, relation, object], ...]``) become :attr:`Question.evidence`.
    """

    Config = TwoWikiConfig

    def __init__(self, config: TwoWikiConfig) -> None:
        self.config = config

    def load(self) -> Dataset:
        """Read the file."""
        return load_contexts(self.config.name, self.config.path, self.config.first)
