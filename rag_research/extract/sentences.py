"""One span a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag_research.text.sentences import sentence_offsets


@dataclass(frozen=True, slots=True)
class SentencesConfig:
    """Settings of :class:`Sentences`: none."""

    name: str = "sentences"


class Sentences:
    """Cuts at every sentence end. White space belongs to the sentence before it."""

    Config = SentencesConfig

    def __init__(self, config: SentencesConfig) -> None:
        self.config = config

    @property
    def identity(self) -> Mapping[str, str]:
        """The name and version of the splitter."""
        return {"segmenter": self.config.name, "version": "1"}

    def segment(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """See :class:`rag_research.extract.spans.Segmenter`."""
        return [sentence_offsets(text) for text in texts]
