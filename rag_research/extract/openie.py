"""Triplets by a frozen language model, in two calls a passage: entities, then triples."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from rag_research.corpus.corpus import Corpus
from rag_research.errors import ParseError
from rag_research.extract.triplets import STAGE, Extraction, Rows, clean_rows, extract_each
from rag_research.llm.base import LLM, Message, Request
from rag_research.llm.structured import complete_structured, pick
from rag_research.prompts.library import PromptLibrary
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.text.entities import capitalised_spans
from rag_research.types import Passage

VERSION = 1
MOST_GUESSED = 40
ENTITIES = "openie/entities"
TRIPLES = "openie/triples"
ENTITIES_SCHEMA: Mapping[str, Any] = {"type": "array", "items": {"type": "string"}}
TRIPLES_SCHEMA: Mapping[str, Any] = {
    "type": "array",
    "items": {"type": "array", "items": {"type": "string"}, "minItems": 3, "maxItems": 3},
}


@dataclass(frozen=True, slots=True)
class OpenIEConfig:
    """Settings of :class:`OpenIE`.

    Args:
        entity_tokens: most tokens of the reply that lists entities.
        triple_tokens: most tokens of the reply that lists triples.
    """

    name: str = "openie"
    entity_tokens: int = 256
    triple_tokens: int = 1024

    def __post_init__(self) -> None:
        if self.entity_tokens < 1 or self.triple_tokens < 1:
            raise ValueError("entity_tokens and triple_tokens must be at least 1.")


class OpenIE:
    """Asks for the named entities of a passage, then for triples given passage and entities.

    A finished passage is stored with what it cost. A passage whose reply cannot be read, or
    whose call failed, is counted and not stored, so the next run asks again.

    Source: T2RAG (arXiv 2508.02435), offline index; the two calls follow HippoRAG.
    """

    Config: ClassVar[type[OpenIEConfig]] = OpenIEConfig

    def __init__(self, config: OpenIEConfig) -> None:
        self.config = config

    def extract(
        self,
        corpus: Corpus,
        store: ArtifactStore,
        llm: LLM,
        prompts: PromptLibrary,
        concurrency: int = 8,
    ) -> Extraction:
        """Triplets of every passage.

        The report adds ``reused`` (passages found in the store, or equal to another one),
        ``repaired`` (passages that needed a repair request) and ``failed`` (to ask again);
        the cost of failed passages is in ``usage`` of this run only.

        Raises:
            LLMError: every passage that was asked failed: the backend is down.
            BudgetExceededError: the budget is spent; finished passages are kept.
        """
        log = store.items(STAGE, VERSION, self.inputs(llm, prompts))
        return extract_each(
            corpus, log, lambda p, traced: self.passage_item(p, traced, prompts), llm, concurrency
        )

    def inputs(self, llm: LLM, prompts: PromptLibrary) -> dict[str, Any]:
        """What the triplets of a passage depend on besides the passage."""
        return {
            "extractor": self.config,
            "llm": dict(llm.identity),
            "prompts": {name: prompts[name].fingerprint for name in (ENTITIES, TRIPLES)},
        }

    async def passage_item(
        self, passage: Passage, llm: LLM, prompts: PromptLibrary
    ) -> dict[str, Any]:
        """The two calls for one passage, as the item that is stored, but for its cost.

        When the list of entities cannot be read, capitalised words stand in for it.

        Raises:
            ParseError: the triples could not be read, repair included.
            LLMError: the backend failed for good.
        """
        if not passage.contents.strip():
            return {"entities": [], "triplets": []}
        prompt = prompts[ENTITIES]
        request = Request(
            prompt.render(passage=passage.contents),
            max_tokens=self.config.entity_tokens,
            schema=ENTITIES_SCHEMA,
            purpose="openie_entities",
            prompt=prompt.label,
        )
        entities = await complete_structured(llm, request, read_entities, prompts)
        names = entities.value
        if names is None:
            names = list(dict.fromkeys(capitalised_spans(passage.contents)))[:MOST_GUESSED]
        prompt = prompts[TRIPLES]
        messages: tuple[Message, ...] = prompt.render(
            passage=passage.contents, entities=json.dumps(names, ensure_ascii=False)
        )
        request = Request(
            messages,
            max_tokens=self.config.triple_tokens,
            schema=TRIPLES_SCHEMA,
            purpose="openie_triples",
            prompt=prompt.label,
        )
        triples = await complete_structured(llm, request, read_triples, prompts)
        if triples.value is None:
            raise ParseError(triples.error)
        return {
            "entities": names,
            "triplets": [list(t) for t in triples.value.triplets],
            "rejects": triples.value.rejects,
            "entities_guessed": int(entities.rejected),
            "duplicates": triples.value.duplicates,
            "repaired": int(entities.repaired or triples.repaired),
        }


def read_entities(value: Any) -> list[str]:
    """Names in a reply: a list of strings, or of objects with a name, or an object with one.

    Raises:
        ParseError: no such list.
    """
    if isinstance(value, Mapping):
        value = pick(value, "named_entities", "entities", "names")
    if not isinstance(value, list):
        raise ParseError(f"Expected a JSON list of names, got {value!r:.80}.")
    names = [_name(item) for item in value]
    if value and not any(names):
        raise ParseError("The list holds no names. Expected a JSON list of strings.")
    return list(dict.fromkeys(name for name in names if name))


def _name(item: Any) -> str:
    if isinstance(item, Mapping):
        item = next((v for k, v in item.items() if k.lower() in ("name", "entity", "text")), "")
    if isinstance(item, list) and len(item) == 1:
        item = item[0]
    return " ".join(item.split()) if isinstance(item, str) else ""


def read_triples(value: Any) -> Rows:
    """Triplets in a reply: a list of lists, or of objects, or an object that holds one.

    Malformed rows are counted. An empty list is a valid reply.

    Raises:
        ParseError: no list, or none of its rows is a triplet.
    """
    found = triple_rows(value)
    rows = clean_rows(slots_of(row) for row in found)
    if found and not rows.triplets:
        raise ParseError(
            'None of the rows is a triple. Expected [["subject", "relation", "object"], ...] '
            "with three non-empty strings each."
        )
    return rows


def triple_rows(value: Any) -> list[Any]:
    """The rows of a reply that should hold triplets, whatever they look like.

    Raises:
        ParseError: no list.
    """
    if isinstance(value, Mapping):
        try:
            value = pick(value, "triples", "triplets", "facts", "relations")
        except ParseError:
            value = [value]  # a lone triple, written as an object
    if not isinstance(value, list):
        raise ParseError(f"Expected a JSON list of triples, got {value!r:.80}.")
    lone = len(value) == 3 and all(isinstance(slot, str) for slot in value)
    return [value] if lone else list(value)


def slots_of(item: Any) -> Any:
    """Subject, relation and object of a row; a row that is no object as it is."""
    if not isinstance(item, Mapping):
        return item
    slots = []
    for names in (
        ("subject", "s", "head"),
        ("predicate", "relation", "p", "relationship", "verb"),
        ("object", "o", "tail"),
    ):
        try:
            slots.append(pick(item, *names))
        except ParseError:
            return None
    return slots
