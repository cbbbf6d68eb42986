"""The tables of ``evaluate/segmentation.py``: cuts against true ones, and speed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rag_research.config.build import build, inert
from rag_research.corpus.segmented import SegmentedDocument, read_segmented, segmented_file
from rag_research.embed.sentence_encoder import SentenceEncoder
from rag_research.errors import DataError
from rag_research.evaluation.segmentation_peers import EmbeddingDepth, SemanticChunker, TextTiling
from rag_research.extract.boundary import Boundary
from rag_research.extract.cut_scores import BoundaryScores, score_cuts
from rag_research.extract.fixed import Fixed
from rag_research.extract.recursive import Recursive
from rag_research.extract.spans import Segmenter, check_tiling
from rag_research.extract.unit_states import UnitEncoder


@dataclass(frozen=True, slots=True)
class SegmentationConfig:
    """Settings of ``evaluate/segmentation.py``.

    Args:
        folder: of segmented documents; ``None`` leaves their table out.
        sets: files in it, without ``.jsonl`` or ``.jsonl.gz``.
        lengths: file whose mean segment length the fixed and recursive peers use.
        checkpoints: released boundary networks or paths.
        model: encoder of the peers that need one; ``None`` leaves them out.
        limit: documents of each set, the first ones.
        passages: rows with passages and supporting facts, for the extrinsic table; ``None``
            leaves it out.
        passages_of: rows of ``passages`` whose field ``dataset`` is this, or that have none.
        questions: of the extrinsic table, the first ones.
        span_words: length the networks' spans aim at in the extrinsic table; the peers are fitted
            to the mean length that comes of it.
        budgets: tokens of evidence.
        cache: folder of the encoder's states; ``None`` keeps none, so that speeds are real.
        device: of encoders.
    """

    folder: str | None = None
    sets: tuple[str, ...] = ("wiki_test", "meetings_test", "fiction_test")
    lengths: str = "wiki_train"
    checkpoints: tuple[str, ...] = ("boundary-light", "boundary-light-wiki")
    model: str | None = "all-minilm-l6-v2"
    limit: int | None = None
    passages: str | None = None
    passages_of: str = "hotpotqa"
    questions: int = 200
    span_words: int = 48
    budgets: tuple[int, ...] = (256, 512, 1024)
    cache: str | None = inert(None)
    device: str = inert("auto")


@dataclass(frozen=True, slots=True)
class SetScores:
    """One segmenter on one set.

    Args:
        scores: agreement with the true cuts.
        characters_per_second: of CPU time, everything from text to cuts.
    """

    scores: BoundaryScores
    characters_per_second: float


def unit_encoder(config: SegmentationConfig) -> UnitEncoder:
    """The encoder of the peers."""
    settings = {"model": config.model, "device": config.device}
    encoder = SentenceEncoder(build(SentenceEncoder.Config, settings))
    return UnitEncoder(encoder, Path(config.cache) if config.cache else None)


def network_labels(checkpoints: Sequence[str]) -> dict[str, str]:
    """Checkpoints by their names in a table: of the file, or the whole path where two agree."""
    stems = [name.removesuffix(".safetensors").rsplit("/", 1)[-1] for name in checkpoints]
    return {
        stem if stems.count(stem) == 1 else name: name
        for stem, name in zip(stems, checkpoints, strict=True)
    }


def segmenters(config: SegmentationConfig) -> dict[str, Segmenter]:
    """The networks and their peers, by the name in the table."""
    found: dict[str, Segmenter] = {}
    for label, name in network_labels(config.checkpoints).items():
        boundary = Boundary(Boundary.Config(checkpoint=name, device=config.device))
        if config.cache and boundary.encoder is not None:
            boundary.encoder.cache = Path(config.cache)
        found[label] = boundary
    words, characters = _mean_length(config)
    found["text_tiling"] = TextTiling()
    if config.model is not None:
        encoder = unit_encoder(config)
        found["embedding_depth"] = EmbeddingDepth(encoder)
        found["semantic_chunker"] = SemanticChunker(encoder)
    found[f"fixed ({words} words)"] = Fixed(Fixed.Config(size=words))
    found[f"recursive ({characters} characters)"] = Recursive(Recursive.Config(size=characters))
    return found


def score_set(segmenter: Segmenter, documents: Sequence[SegmentedDocument]) -> SetScores:
    """Cut all documents, check that the pieces tile them, score the cuts."""
    texts = [document.text for document in documents]
    started = time.process_time()
    pieces = segmenter.segment(texts)
    seconds = time.process_time() - started
    for text, own in zip(texts, pieces, strict=True):
        check_tiling(text, own)
    cuts = [[start for start, _ in own[1:]] for own in pieces]
    scores = score_cuts(texts, [document.cuts for document in documents], cuts)
    return SetScores(scores, sum(map(len, texts)) / max(seconds, 1e-9))


def read_set(config: SegmentationConfig, name: str) -> list[SegmentedDocument]:
    """The documents of one set, at most ``limit``.

    Raises:
        DataError: there is none.
    """
    assert config.folder is not None
    file = segmented_file(Path(config.folder), name)
    documents = list(read_segmented(file))[: config.limit]
    if not documents:
        raise DataError(f"{file}: no document, limit is {config.limit}.")
    return documents


def segmentation_table(rows: Mapping[str, Mapping[str, SetScores]]) -> str:
    """Markdown: a line for each segmenter, three figures and the speed for each set."""
    sets = list(next(iter(rows.values())))
    head = [f"{name}: Pk / WindowDiff / F1 (cuts) {'M characters/s':>4}" for name in sets]
    lines = [f"| segmenter | {' | '.join(head)} |", "|---" * (len(sets) + 1) + "|"]
    for name, scores in rows.items():
        cells = []
        for found in scores.values():
            s = found.scores
            speed = found.characters_per_second / 1e6
            cells.append(
                f"{s.pk:.1f} / {s.window_diff:.1f} / {s.f1:.1f} ({s.cuts:.2f}) {speed:.3f}"
            )
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _mean_length(config: SegmentationConfig) -> tuple[int, int]:
    """Mean segment of the training set, in words and characters."""
    if config.folder is None:
        return 60, 400
    documents = list(read_segmented(segmented_file(Path(config.folder), config.lengths)))
    segments = sum(len(document.cuts) + 1 for document in documents)
    characters = sum(len(document.text) for document in documents)
    words = sum(document.text.count(" ") + 1 for document in documents)
    return words // segments, characters // segments
