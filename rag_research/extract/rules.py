"""Triplets without a language model: dependency rules over spaCy parses (extra ``spacy``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from rag_research.config.build import inert
from rag_research.corpus.corpus import Corpus
from rag_research.errors import ModelNotFoundError, missing_extra
from rag_research.extract.clauses import sentence_triplets
from rag_research.extract.mentions import Mentions
from rag_research.extract.parentheses import cut_parentheses, parenthesis_triplets, tidy
from rag_research.extract.triplets import (
    STAGE,
    Extraction,
    clean_rows,
    collect,
    passage_key,
    unfinished,
)
from rag_research.llm.base import LLM
from rag_research.prompts.library import PromptLibrary
from rag_research.runtime.artifacts import ArtifactStore, ItemLog
from rag_research.runtime.progress import progress
from rag_research.runtime.weights import resolve_model
from rag_research.text.entities import entity_key, plain_title
from rag_research.text.sentences import sentence_offsets
from rag_research.types import Passage, Triplet

VERSION = 1
MASK = "Tarimba"
_WORK = (
    r"\b(?:film|movie|album|song|single|series|sitcom|novel|book|play|opera|musical|band|episode|"
    r"magazine|documentary|EP|soundtrack|comedy|drama|serial|game|show|poem|painting|newspaper|"
    r"manga|anime)\b"
)
_MAKER = (
    r"\b(?:director|producer|actor|actress|writer|screenwriter|editor|composer|singer|critic|"
    r"player|artist|musician|maker|cinematographer|songwriter|host|personality|performer)"
)
_IS_A_WORK = re.compile(
    rf"\"?(?:\s*,?\s*\([^)]*\))?,? (?:is|was|are|were) (?:a|an|the)\b(?:(?!{_WORK})[^.]){{0,90}}"
    rf"{_WORK}(?! (?:and \w+ )?{_MAKER})"
)
PIECE = 20_000  # characters parsed at once
BATCH = 64_000  # characters of pieces parsed side by side
C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class RulesConfig:
    """Settings of :class:`Rules`.

    Args:
        model: an English spaCy model with a parser: a catalogue name, a folder, or the name
            of an installed spaCy package.
        batch_size: passages parsed together, fewer when they are long.
    """

    name: str = "rules"
    model: str = "en-core-web-sm"
    batch_size: int = inert(64)


class Rules:
    """Reads triplets off dependency parses; the same text always gives the same triplets.

    Subjects are resolved to the passage title where the passage is about its title (see
    :class:`~rag_research.extract.mentions.Mentions`), parentheses are read by pattern.
    """

    Config: ClassVar[type[RulesConfig]] = RulesConfig

    def __init__(self, config: RulesConfig) -> None:
        self.config = config

    def extract(
        self,
        corpus: Corpus,
        store: ArtifactStore,
        llm: LLM | None = None,
        prompts: PromptLibrary | None = None,
        concurrency: int = 8,
    ) -> Extraction:
        """Triplets of every passage; no LLM is asked. The report adds ``reused`` passages.

        Raises:
            MissingExtraError: spaCy is not installed.
            ModelNotFoundError: the spaCy model is not on this machine.
        """
        del llm, prompts, concurrency  # of the protocol, not needed here
        where, identity = find_parser(self.config.model)
        log = store.items(STAGE, VERSION, {"extractor": "rules", "model": identity})
        pending = unfinished(corpus, log)
        reused = sum(passage_key(p) not in pending for p in corpus)
        if pending:  # a finished corpus is read back without loading the parser
            self._work_through(pending, load_parser(where), log)
        keys = {passage_key(p) for p in corpus}
        return collect(corpus, {key: log[key] for key in keys}, reused=reused)

    def _work_through(self, pending: Mapping[str, Passage], nlp: Any, log: ItemLog) -> None:
        with progress("extract triplets", len(pending)) as advance:
            for key, passage, sentences, notes in self._parsed(nlp, pending):
                name = plain_title(passage.title)
                found = passage_triplets(passage, sentences, notes)
                named = (Triplet(*(slot.replace(MASK, name) for slot in t)) for t in found)
                rows = clean_rows(
                    [*t] for t in named if entity_key(t.object) != entity_key(t.subject)
                )
                item = {"triplets": [[*t] for t in rows.triplets], "duplicates": rows.duplicates}
                log.add(key, item | {"rejects": rows.rejects})
                advance()

    def _parsed(
        self, nlp: Any, pending: Mapping[str, Passage]
    ) -> Iterator[tuple[str, Passage, list[Any], list[tuple[int, str]]]]:
        """Parsed sentences of each passage, with the parentheses cut out of its text."""

        def pieces() -> Iterator[tuple[str, tuple[str, int, bool, list[tuple[int, str]]]]]:
            for key, passage in pending.items():
                text, notes = cut_parentheses(mask_title(tidy(passage.text), passage.title))
                text = text.replace(f"{MASK}, is", f"{MASK}  is", 1)  # keeps positions
                parts = split_long(text) or [(0, "")]
                for offset, part in parts:
                    yield part, (key, offset, offset == parts[-1][0], notes)

        sentences: list[Any] = []
        docs = piped(nlp, pieces(), self.config.batch_size)
        for doc, (key, offset, last, notes) in docs:
            sentences.extend((offset, sentence) for sentence in doc.sents)
            if last:
                yield key, pending[key], sentences, notes
                sentences = []


def passage_triplets(
    passage: Passage, sentences: list[tuple[int, Any]], notes: list[tuple[int, str]]
) -> Iterator[Triplet]:
    """All triplets of one passage, sentence by sentence, repeats included.

    Args:
        passage: gives the title.
        sentences: character offset of its piece of text, and the parsed sentence.
        notes: position and content of the parentheses that were cut out.
    """
    mentions = Mentions(passage.title, sentences[0][1] if sentences else None, MASK)
    name = mentions.full_name
    if len(name) > 3 and not mentions.is_part_of_title(name):
        yield Triplet(passage.title, "is also known as", name)
    waiting = list(notes)
    for offset, sentence in sentences:
        end = offset + sentence.end_char
        while waiting and waiting[0][0] <= end:
            position, content = waiting.pop(0)
            yield from _note(position - offset, content, sentence, mentions)
        yield from sentence_triplets(sentence, mentions)


def _note(position: int, content: str, sentence: Any, mentions: Mentions) -> Iterator[Triplet]:
    """Facts in a parenthesis, said of the noun that stands right before it."""
    before = [t for t in sentence if t.idx < position and not (t.is_space or t.is_punct)]
    if not before or before[-1].pos_ not in ("PROPN", "NOUN"):
        return
    subject = mentions.name_ending_at(before[-1])
    if subject:
        person = before[-1].ent_type_ == "PERSON"
        person = person or (mentions.person and subject == mentions.title)
        yield from parenthesis_triplets(subject, content, person=person)


def mask_title(text: str, title: str) -> str:
    """Put a plain name for the title of a work: "Who Am I? is a film" cannot be parsed.

    Only where the text begins by saying that the title is a work; the name is taken back in
    the triplets.
    """
    name = tidy(plain_title(title))
    if not _IS_A_WORK.match(text[len(name) :]) or not text.startswith(name):
        return text
    return re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", MASK, text)


def split_long(text: str) -> list[tuple[int, str]]:
    """Cut a very long text between sentences: the parser's memory grows with the length."""
    pieces: list[tuple[int, str]] = []
    for start, end in sentence_offsets(text):
        for cut in range(start, end, PIECE):  # a "sentence" may itself be endless
            stop = min(cut + PIECE, end)
            if pieces and len(pieces[-1][1]) + stop - cut <= PIECE:
                pieces[-1] = (pieces[-1][0], pieces[-1][1] + text[cut:stop])
            else:
                pieces.append((cut, text[cut:stop]))
    return pieces


def piped(nlp: Any, pieces: Iterable[tuple[str, C]], size: int) -> Iterator[tuple[Any, C]]:
    """``nlp.pipe`` in batches that are short enough together: memory grows with a batch.

    Args:
        nlp: a spaCy pipeline.
        pieces: texts, each with what goes with it.
        size: most texts of a batch, which has at most :data:`BATCH` characters, or one text.
    """
    batch: list[tuple[str, C]] = []
    for piece in pieces:
        if len(batch) == size or sum(len(text) for text, _ in [*batch, piece]) > BATCH:
            yield from nlp.pipe(batch, as_tuples=True)
            batch = []
        batch.append(piece)
    yield from nlp.pipe(batch, as_tuples=True)


def find_parser(model: str) -> tuple[str | Path, dict[str, str]]:
    """Where a spaCy model is, and what identifies it; loads nothing.

    Args:
        model: a catalogue name, a folder, or the name of an installed spaCy package.

    Raises:
        MissingExtraError: spaCy is not installed.
        ModelNotFoundError: there is no such model.
    """
    try:
        import spacy.about
        import spacy.util
    except ImportError as error:
        raise missing_extra("spacy", "spacy", "The extractor 'rules'") from error
    library = str(spacy.about.__version__)
    if spacy.util.is_package(model):
        version = str(spacy.util.get_package_version(model))
        return model, {"package": model, "version": version, "spacy": library}
    files = resolve_model(model)
    return files.path, {"sha256": files.sha256, "spacy": library}


def load_parser(where: str | Path) -> Any:
    """The spaCy pipeline at ``where``, as :func:`find_parser` found it.

    Raises:
        ModelNotFoundError: what is there is no spaCy model.
    """
    import spacy

    try:
        return spacy.load(where)
    except (OSError, ValueError) as error:
        raise ModelNotFoundError(
            f"{where} holds no spaCy model that can be loaded ({error}). "
            "Set extractor.model to en-core-web-sm or to the folder of an English spaCy model."
        ) from error
