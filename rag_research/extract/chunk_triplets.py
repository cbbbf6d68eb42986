"""A few triplets a chunk with types and descriptions of their entities, in one LLM call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rag_research.corpus.corpus import Corpus
from rag_research.errors import ParseError
from rag_research.extract.openie import slots_of, triple_rows
from rag_research.extract.triplets import STAGE, Extraction, clean_rows, extract_each
from rag_research.llm.base import LLM, Request
from rag_research.llm.structured import complete_structured, pick
from rag_research.prompts.library import PromptLibrary
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.text.entities import entity_key
from rag_research.types import Entity, Passage, Triplet

VERSION = 1
PROMPT = "tog3/extract"
_FIELDS = (
    "subject",
    "subject_type",
    "subject_description",
    "relation",
    "object",
    "object_type",
    "object_description",
)


@dataclass(frozen=True, slots=True)
class ChunkTripletsConfig:
    """Settings of :class:`ChunkTriplets`.

    Args:
        limit: most triplets of a chunk; the paper's 2.
        max_tokens: most tokens of a reply.
    """

    name: str = "chunk_triplets"
    limit: int = 2
    max_tokens: int = 320

    def __post_init__(self) -> None:
        if self.limit < 1 or self.max_tokens < 1:
            raise ValueError("limit and max_tokens must be at least 1.")


@dataclass(frozen=True, slots=True)
class Described:
    """What one reply holds.

    Args:
        triplets: at most as many as asked for.
        entities: subjects and objects of ``triplets``, each once.
        rejects: rows that are no triplet, or that relate a thing to itself.
        duplicates: repeats.
        excess: good rows beyond the limit, which are dropped.
    """

    triplets: tuple[Triplet, ...]
    entities: tuple[Entity, ...]
    rejects: int = 0
    duplicates: int = 0
    excess: int = 0


class ChunkTriplets:
    """Asks once a chunk for triplets whose entities have a type and a description.

    A finished chunk is stored with what it cost. A chunk whose reply cannot be read after one
    repair request, or whose call failed, is counted and not stored, so the next run asks again.

    Source: ToG-3 (arXiv 2509.21710), heterogeneous index.
    """

    Config: ClassVar[type[ChunkTripletsConfig]] = ChunkTripletsConfig

    def __init__(self, config: ChunkTripletsConfig) -> None:
        self.config = config

    def extract(
        self,
        corpus: Corpus,
        store: ArtifactStore,
        llm: LLM,
        prompts: PromptLibrary,
        concurrency: int = 8,
    ) -> Extraction:
        """Triplets and described entities of every chunk of ``corpus``.

        The report adds ``excess`` (triplets beyond the limit), ``repaired`` and ``reused``.

        Raises:
            LLMError: every chunk that was asked failed: the backend is down.
            BudgetExceededError: the budget is spent; finished chunks are kept.
        """
        inputs = {
            "extractor": self.config,
            "llm": dict(llm.identity),
            "prompts": {PROMPT: prompts[PROMPT].fingerprint},
        }
        log = store.items(STAGE, VERSION, inputs)
        return extract_each(
            corpus, log, lambda p, traced: self.chunk_item(p, traced, prompts), llm, concurrency
        )

    async def chunk_item(self, chunk: Passage, llm: LLM, prompts: PromptLibrary) -> dict[str, Any]:
        """What is stored of one chunk, but for its cost.

        Raises:
            ParseError: the reply could not be read, repair included.
            LLMError: the backend failed for good.
        """
        if not chunk.contents.strip():
            return {"triplets": []}
        prompt, limit = prompts[PROMPT], self.config.limit
        request = Request(
            prompt.render(passage=chunk.contents, limit=str(limit)),
            max_tokens=self.config.max_tokens,
            schema=reply_schema(limit),
            purpose="extract",
            prompt=prompt.label,
        )
        parsed = await complete_structured(
            llm, request, lambda v: read_described(v, limit), prompts
        )
        if parsed.value is None:
            raise ParseError(parsed.error)
        found = parsed.value
        return {
            "triplets": [list(triplet) for triplet in found.triplets],
            "described": [[e.name, e.type, e.description] for e in found.entities],
            "rejects": found.rejects,
            "duplicates": found.duplicates,
            "excess": found.excess,
            "repaired": int(parsed.repaired),
        }


def reply_schema(limit: int) -> dict[str, Any]:
    """JSON schema of a reply with at most ``limit`` triplets."""
    row = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in _FIELDS},
        "required": list(_FIELDS),
        "additionalProperties": False,
    }
    return {"type": "array", "items": row, "maxItems": limit}


def read_described(value: Any, limit: int) -> Described:
    """Triplets and entities in a reply.

    A row is an object with the asked fields, with nested objects for subject and object, or a
    bare list of three strings. Types and descriptions may be missing. An empty list is a valid
    reply.

    Args:
        value: a decoded JSON value.
        limit: most triplets to keep, the first ones.

    Raises:
        ParseError: no list, or none of its rows is a triplet. A row that relates a thing to
            itself is one, though it is of no use: asking again would bring it again.
    """
    found = triple_rows(value)
    named = [_named(row) for row in found]
    rows = clean_rows(named)
    good = [t for t in rows.triplets if _relates_two(t)]
    if found and not rows.triplets:
        raise ParseError(
            'None of the rows is a fact. Expected objects with the keys "subject", "relation" '
            'and "object", each a non-empty string.'
        )
    kept = tuple(good[:limit])
    return Described(
        kept,
        _entities(kept, found),
        rows.rejects + len(rows.triplets) - len(good),
        rows.duplicates,
        len(good) - len(kept),
    )


def _relates_two(triplet: Triplet) -> bool:
    keys = entity_key(triplet.subject), entity_key(triplet.object)
    return all(keys) and keys[0] != keys[1]


def _named(row: Any) -> Any:
    """The three slots of a row as names; ``None`` slots make it a reject."""
    slots = slots_of(row)
    if isinstance(slots, str) or not isinstance(slots, Sequence):
        return slots
    return [_field(slot, "name") if isinstance(slot, Mapping) else slot for slot in slots]


def _entities(kept: Sequence[Triplet], rows: Sequence[Any]) -> tuple[Entity, ...]:
    """Subjects and objects of ``kept`` with the fullest of what ``rows`` say about each."""
    wanted = {entity_key(name): name for t in reversed(kept) for name in (t.object, t.subject)}
    told: dict[str, Entity] = {}
    for row in rows:
        for role in ("subject", "object") if isinstance(row, Mapping) else ():
            said = _told(row, role)
            key = entity_key(said.name)
            before = told.get(key, Entity(said.name))
            told[key] = Entity(
                wanted.get(key, said.name),
                before.type or said.type,
                max(before.description, said.description, key=len),
            )
    order = dict.fromkeys(entity_key(name) for t in kept for name in (t.subject, t.object))
    return tuple(told.get(key, Entity(wanted[key])) for key in order)


def _told(row: Mapping[str, Any], role: str) -> Entity:
    inner = _field(row, role, text=False)
    if isinstance(inner, Mapping):
        return Entity(_field(inner, "name"), _field(inner, "type"), _field(inner, "description"))
    type_, description = _field(row, f"{role}_type"), _field(row, f"{role}_description")
    return Entity(inner if isinstance(inner, str) else "", type_, description)


def _field(mapping: Mapping[str, Any], name: str, *, text: bool = True) -> Any:
    """A field, empty where it is missing; with ``text`` also where it is no string."""
    try:
        value = pick(mapping, name)
    except ParseError:
        return ""
    if not text:
        return value
    return " ".join(value.split()) if isinstance(value, str) else ""
