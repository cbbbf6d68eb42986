"""From segmented documents to rows of features and targets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_research.corpus.records import Row, existing, json_rows
from rag_research.corpus.segmented import (
    SegmentedDocument,
    document_of,
    read_segmented,
    segmented_file,
)
from rag_research.errors import DataError
from rag_research.extract.boundary_features import Reading, contextual_features, light_features
from rag_research.extract.cut_scores import cut_words
from rag_research.extract.surface_flags import NEWLINE_COLUMNS
from rag_research.extract.unit_states import UnitEncoder
from rag_research.extract.window_features import window_features
from rag_research.extract.word_table import WordTable
from rag_research.text.chunks import WORD
from rag_research.training.boundary_config import BoundaryDataConfig
from rag_research.training.unit_documents import UnitDocument, rejoined, unit_document

Half = NDArray[np.float16]
_PASSAGES_A_DOCUMENT = 10
_DEEP = 0.05  # share of a document's candidates that count as deep
_FALSE_BREAKS = 3  # line breaks elsewhere for each at a boundary


@dataclass(frozen=True, slots=True)
class Rows:
    """Candidates of several documents.

    Args:
        features: half precision. [N, F]
        targets: in [0, 1]. [N]
        weights: in the loss. [N]
    """

    features: Half
    targets: NDArray[np.float32]
    weights: NDArray[np.float32]

    @classmethod
    def concatenated(cls, parts: Sequence[Rows]) -> Rows:
        """All rows, in order."""
        return cls(
            np.concatenate([part.features for part in parts]),
            np.concatenate([part.targets for part in parts]),
            np.concatenate([part.weights for part in parts]),
        )


@dataclass(frozen=True, slots=True)
class ValidationDocument:
    """What scoring needs of a document besides its logits, which lie one after another.

    Args:
        kind: part of the file's name before ``_``.
        words: of each unit. [C + 1]
        gold: words before each true cut.
    """

    kind: str
    words: NDArray[np.int64]
    gold: NDArray[np.int64]

    @property
    def candidates(self) -> int:
        """C, one less than its units."""
        return max(len(self.words) - 1, 0)


def split_files(
    config: BoundaryDataConfig, seed: int
) -> tuple[list[tuple[str, SegmentedDocument]], list[tuple[str, SegmentedDocument]]]:
    """Training and validation documents with their kind.

    Raises:
        DataError: a file is missing, or one of the two parts is empty.
    """
    folder = existing(Path(config.folder), "folder of segmented documents")
    validate = [(name.partition("_")[0], name) for name in config.validate]
    training: list[tuple[str, SegmentedDocument]] = []
    validation: list[tuple[str, SegmentedDocument]] = []
    for item in config.train:
        name, _, count = item.partition(":")
        documents = list(read_segmented(segmented_file(folder, name)))
        documents = documents[: int(count) if count else None]
        kind = name.partition("_")[0]
        if kind not in {known for known, _ in validate} and config.held_out:
            Random(seed).shuffle(documents)
            kept = max(1, round(config.held_out * len(documents)))
            validation += [(kind, document) for document in documents[:kept]]
            documents = documents[kept:]
        training += [(kind, document) for document in documents[: config.limit]]
    for kind, name in validate:
        documents = list(read_segmented(segmented_file(folder, name)))
        validation += [(kind, document) for document in documents[: config.limit]]
    for name, part, way_out in (
        ("train", training, "Name more files in data.train, or lower data.held_out."),
        ("validate", validation, "Name a file in data.validate, or raise data.held_out."),
    ):
        if not part:
            raise DataError(f"data.{name}: {folder} gives no document for it. {way_out}")
    return training, validation


def joined_passages(
    path: Path, count: int, random: Random, datasets: Sequence[str] = ()
) -> Iterator[SegmentedDocument]:
    """Documents of ten unrelated passages each; a passage is one segment.

    Args:
        path: JSON lines with ``passages: [{sentences}]``.
        count: documents made.
        random: the source of all choices.
        datasets: values of the field ``dataset`` that are taken; empty takes all.

    Raises:
        DataError: a row is not of this form, or there are too few passages.
    """
    pool = [
        sentences
        for row in json_rows(existing(path, "file of passages"))
        if not datasets or row.text("dataset", "") in datasets
        for sentences in map(partial(_sentences, row), row.items("passages"))
        if any(sentence.strip() for sentence in sentences)
    ]
    if count and len(pool) < _PASSAGES_A_DOCUMENT:
        raise DataError(
            f"{path}: {len(pool)} passages of {', '.join(datasets) or 'any data set'}, and a "
            f"document is joined of {_PASSAGES_A_DOCUMENT}. Name other data sets in "
            "data.passages_of, or say data.joined=0."
        )
    for number in range(count):
        yield document_of(random.sample(pool, _PASSAGES_A_DOCUMENT), f"joined-{number}")


def _sentences(row: Row, passage: Any) -> list[str]:
    """The sentences of a passage."""
    found = passage.get("sentences") if isinstance(passage, dict) else None
    if not isinstance(found, list) or not all(isinstance(sentence, str) for sentence in found):
        raise row.wrong("passages", passage, "objects with a list of sentences")
    return found


class RowMaker:
    """Documents -> rows.

    Args:
        table: static word vectors.
        encoder: of the contextual mode; ``None`` for light.
        reading: what is read of its states.
    """

    def __init__(
        self, table: WordTable, encoder: UnitEncoder | None, reading: Reading = "cosines"
    ) -> None:
        self.table = table
        self.encoder = encoder
        self.reading = reading

    def with_states(self, documents: Sequence[SegmentedDocument]) -> list[UnitDocument]:
        """Units, labels, and the encoder's states where there is an encoder."""
        plain = [unit_document(document) for document in documents]
        if self.encoder is None:
            return plain
        states = self.encoder.documents([d.text for d in plain], [d.units for d in plain])
        return [
            UnitDocument(d.text, d.units, d.labels, known)
            for d, known in zip(plain, states, strict=True)
        ]

    def rows(self, document: UnitDocument, weight: float = 1.0, soft: float = 0.0) -> Rows:
        """Features and targets of one document's candidates.

        Args:
            document: with states if this maker has an encoder.
            weight: of its rows.
            soft: target of deep ends that are no boundary.
        """
        features = light_features(document.text, document.units, self.table)
        if document.states is not None:
            features = contextual_features(features, document.states, self.reading)
        targets = document.labels.copy()
        if soft and len(targets):
            meaning = self.table.meaning(self.table.read(document.text, document.units))
            depths = window_features(meaning, (4,))[:, 1]
            targets[(depths >= np.quantile(depths, 1 - _DEEP)) & (targets == 0)] = soft
        weights = np.full(len(targets), weight, dtype=np.float32)
        return Rows(features.astype(np.float16), targets, weights)


def training_rows(
    documents: Mapping[str, Sequence[UnitDocument]],
    extra: Sequence[UnitDocument],
    maker: RowMaker,
    config: BoundaryDataConfig,
    seed: int,
) -> Rows:
    """Rows of the documents as written, of new joins, and with line breaks in some.

    Kinds weigh by ``config.kinds``; weights are then scaled to a mean of 1 over the real rows.

    Args:
        documents: real ones, by kind.
        extra: made of joined passages.
        maker: of rows.
        config: shares and weights.
        seed: of all choices.
    """
    parts: list[Rows] = []
    for own in documents.values():
        made = [maker.rows(document, 1.0, config.soft_ends) for document in own]
        rows = sum(len(part.targets) for part in made)
        weight = max(rows, 1) ** -0.5 if config.kinds == "root" else 1.0
        parts += [replace(part, weights=part.weights * np.float32(weight)) for part in made]
    total = sum(float(part.weights.sum()) for part in parts)
    unit = np.float32(sum(len(part.targets) for part in parts) / max(total, 1e-9))
    parts = [replace(part, weights=part.weights * unit) for part in parts]
    joins = list(extra)
    for turn in range(config.rejoined):
        for own in documents.values():
            joins += rejoined(own, Random(f"{seed}-{turn}"))
    parts += [maker.rows(document, config.rejoined_weight) for document in joins]
    generator = np.random.default_rng(seed)
    for part in parts:
        if generator.random() < config.line_breaks:
            _break_lines(part, generator)
    return Rows.concatenated(parts)


def validation_document(
    kind: str, source: SegmentedDocument, document: UnitDocument
) -> ValidationDocument:
    """What :func:`rag_research.training.boundary_scores.score` reads."""
    words = [len(WORD.findall(document.text, start, end)) for start, end in document.units]
    gold = cut_words(source.text, source.cuts)[1]
    return ValidationDocument(kind, np.array(words, dtype=np.int64), gold)


def _break_lines(rows: Rows, generator: np.random.Generator) -> None:
    true = rows.targets > 0.5
    odds = min(1.0, _FALSE_BREAKS * float(true.mean())) if len(true) else 0.0
    breaks = true | (generator.random(len(true)) < odds)
    for column in NEWLINE_COLUMNS:
        rows.features[breaks, column] = 1.0
