"""Settings of ``train/boundary.py``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from rag_research.config.build import inert
from rag_research.corpus.records import existing
from rag_research.corpus.segmented import segmented_file
from rag_research.extract.boundary_features import Mode, Reading
from rag_research.runtime.seeding import check_seed_and_threads
from rag_research.training.trainer_config import OptimiserConfig, TrainerConfig

_FILE = re.compile(r"[^:]+(:[1-9]\d*)?")


@dataclass(frozen=True, slots=True)
class BoundaryDataConfig:
    """What the network is trained and chosen on.

    Args:
        folder: of the segmented documents.
        train: files in it, without ``.jsonl.gz``; ``NAME:N`` takes its first N documents.
        validate: files in it that thresholds and epochs are chosen on.
        held_out: share of the documents of a training file that is kept for validation when no
            file in ``validate`` is of its kind (the part of the name before ``_``).
        limit: documents taken of each file; ``None`` takes all.
        passages: JSON lines with ``passages: [{sentences}]``; joins of unrelated passages
            become training documents. ``None`` does without.
        passages_of: values of the field ``dataset`` of the rows whose passages are used; empty
            takes all.
        joined: documents made of joined passages.
        kinds: weight in the loss of a kind of n rows: ``rows`` (n) or ``root`` (``sqrt(n)``, so
            that a few long kinds do not decide for the others).
        rejoined: times each training document is added with its segments in another order.
        rejoined_weight: weight in the loss of rows of joined and rejoined documents.
        soft_ends: target of candidates that are no boundary but whose similarity valley is
            among the deepest twentieth of the document.
        line_breaks: share of training documents that get line breaks at their boundaries and
            at three times as many other places, so that line breaks count where texts have them.
        states: what the contextual mode reads of the encoder's states: ``cosines`` of windows,
            or ``tokens`` too (see ``contextual_features``).
        batch_rows: token pairs in a batch.
        cache: folder where states of the frozen encoder are kept.
    """

    folder: str
    train: tuple[str, ...] = ("wiki_train", "meetings_train", "fiction_train")
    validate: tuple[str, ...] = ("wiki_val", "meetings_val")
    held_out: float = 0.15
    limit: int | None = None
    passages: str | None = None
    passages_of: tuple[str, ...] = ()
    joined: int = 100
    kinds: Literal["rows", "root"] = "root"
    rejoined: int = 0
    rejoined_weight: float = 0.3
    soft_ends: float = 0.0
    line_breaks: float = 0.1
    states: Reading = "cosines"
    batch_rows: int = 4096
    cache: str = inert(".rag_research/unit-states")

    def __post_init__(self) -> None:
        if not self.train:
            raise ValueError("train: expected the name of at least one file.")
        if wrong := [name for name in self.train if not _FILE.fullmatch(name)]:
            raise ValueError(f"train: got {wrong[0]!r}, expected NAME or NAME:N.")
        for name in ("held_out", "soft_ends", "line_breaks"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name}: got {getattr(self, name)}, expected [0, 1).")
        for name in ("joined", "rejoined"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}: got {getattr(self, name)}, expected 0 or more.")
        if self.batch_rows < 1 or (self.limit is not None and self.limit < 1):
            raise ValueError(
                f"needs batch_rows >= 1 and limit >= 1, got {self.batch_rows} and {self.limit}."
            )
        names = [name.partition(":")[0] for name in self.train]
        twice = [name for name in names if names.count(name) > 1 or name in self.validate]
        if twice:
            raise ValueError(
                f"train: {twice[0]!r} is named twice, or in validate too: the network would be "
                "chosen on documents that it was trained on. Name each file once."
            )

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are read.

        Raises:
            DataError: one is missing.
        """
        folder = existing(Path(self.folder), "folder of segmented documents")
        names = (*(name.partition(":")[0] for name in self.train), *self.validate)
        passages = () if self.passages is None else (existing(Path(self.passages), "passages"),)
        return (*(segmented_file(folder, name) for name in names), *passages)


@dataclass(frozen=True, slots=True)
class BoundaryNetworkConfig:
    """Size and regularisation of the network.

    Args:
        hidden: sizes of the hidden layers.
        dropout: after the first hidden layer.
        input_dropout: share of the normalised inputs that is dropped.
    """

    hidden: tuple[int, ...] = (256, 64)
    dropout: float = 0.1
    input_dropout: float = 0.3

    def __post_init__(self) -> None:
        if any(size < 1 for size in self.hidden):
            raise ValueError(f"hidden: got {list(self.hidden)}, expected sizes of at least 1.")
        for name in ("dropout", "input_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name}: got {getattr(self, name)}, expected [0, 1).")


@dataclass(frozen=True, slots=True)
class BoundaryLossConfig:
    """Which loss.

    Args:
        name: ``bce`` (weighted) or ``focal``.
        smoothing: of the labels (``bce``).
        gamma: of the focal loss.
    """

    name: Literal["bce", "focal"] = "bce"
    smoothing: float = 0.02
    gamma: float = 2.0


@dataclass(frozen=True, slots=True)
class BoundaryTrainingConfig:
    """Everything one training run of the boundary network needs.

    Args:
        mode: ``light`` or ``contextual``.
        data: see :class:`BoundaryDataConfig`.
        network: see :class:`BoundaryNetworkConfig`.
        loss: see :class:`BoundaryLossConfig`.
        optimiser: see :class:`OptimiserConfig`.
        trainer: see :class:`TrainerConfig`.
        model: frozen encoder: of the states (contextual), and teacher of the word table.
        precision: of the encoder.
        table: a checkpoint whose word table is used again; ``None`` makes one from the
            training texts.
        table_words: words of a new table.
        seed: governs every random choice.
        threads: CPU threads of one operator; with more than one the same seed does not always
            give the same weights.
        out: folder of the run: logs, Lightning checkpoints.
        export: file the chosen network is written to, with a card beside; ``None`` exports
            into ``out``.
    """

    data: BoundaryDataConfig
    mode: Mode = "light"
    network: BoundaryNetworkConfig = field(default_factory=BoundaryNetworkConfig)
    loss: BoundaryLossConfig = field(default_factory=BoundaryLossConfig)
    optimiser: OptimiserConfig = field(default_factory=OptimiserConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    model: str = "all-minilm-l6-v2"
    precision: Literal["bf16", "fp32"] = "bf16"
    table: str | None = None
    table_words: int = 20_000
    seed: int = 0
    threads: int = inert(1)
    out: str = inert("runs/boundary")
    export: str | None = inert(None)

    def __post_init__(self) -> None:
        check_seed_and_threads(self.seed, self.threads)
