"""Named entities by spaCy, together with runs of capitalised words (extra ``spacy``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rag_research.config.build import inert
from rag_research.config.fingerprint import canonical_json
from rag_research.extract.rules import find_parser, load_parser, piped, split_long
from rag_research.text.entities import capitalised_offsets

Interval = tuple[int, int]

# Spans that share a number or a date need not be about the same thing.
_NUMBERS = frozenset(
    ("CARDINAL", "ORDINAL", "QUANTITY", "PERCENT", "MONEY", "TIME", "DATE", "LANGUAGE")
)
_NOT_NEEDED = ("tagger", "parser", "senter", "attribute_ruler", "lemmatizer")


@dataclass(frozen=True, slots=True)
class NamedEntitiesConfig:
    """Settings of :class:`NamedEntities`.

    Args:
        model: a spaCy model with a named entity recogniser: a catalogue name, a folder, or
            the name of an installed spaCy package.
        batch_size: texts recognised together, fewer when they are long.
    """

    name: str = "named_entities"
    model: str = "en-core-web-sm"
    batch_size: int = inert(64)


class NamedEntities:
    """What the recogniser finds, numbers and dates left out, and runs of capitalised words.

    Raises:
        MissingExtraError: spaCy is not installed.
        ModelNotFoundError: the spaCy model is not on this machine.
    """

    Config = NamedEntitiesConfig

    def __init__(self, config: NamedEntitiesConfig) -> None:
        self.config = config
        self._where, self._model = find_parser(config.model)

    @property
    def identity(self) -> Mapping[str, str]:
        """Everything that decides what is found, for fingerprints."""
        return {
            "entities": self.config.name,
            "version": "1",
            "model": canonical_json(self._model),
        }

    @cached_property
    def _pipeline(self) -> Any:
        pipeline = load_parser(self._where)
        pipeline.select_pipes(disable=[p for p in _NOT_NEEDED if p in pipeline.pipe_names])
        return pipeline

    def mentions(self, texts: Sequence[str]) -> list[list[Interval]]:
        """See :meth:`rag_research.extract.capitalised.Capitalised.mentions`."""
        found = [set(capitalised_offsets(text)) for text in texts]

        def pieces() -> Iterator[tuple[str, tuple[int, int]]]:
            for number, text in enumerate(texts):
                for offset, piece in split_long(text):
                    yield piece, (number, offset)

        documents = piped(self._pipeline, pieces(), self.config.batch_size)
        for document, (number, offset) in documents:
            for entity in document.ents:
                if entity.label_ not in _NUMBERS:
                    found[number].add((offset + entity.start_char, offset + entity.end_char))
        return [sorted(mentions) for mentions in found]
