"""Settings of ``train/selector.py``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from rag_research.config.build import inert, slot
from rag_research.corpus.records import existing
from rag_research.errors import did_you_mean
from rag_research.graph.path_candidates import CandidateConfig
from rag_research.graph.path_edges import EDGE_FEATURES
from rag_research.graph.path_features import NODE_FEATURES, SENTENCE_FEATURES
from rag_research.models.path_selector import PathSelectorConfig
from rag_research.registry import ENCODERS
from rag_research.runtime.seeding import check_seed_and_threads
from rag_research.training.trainer_config import OptimiserConfig, TrainerConfig

FEATURE_GROUPS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "node": NODE_FEATURES,
    "edge": EDGE_FEATURES,
    "sentence": {name: (name,) for name in SENTENCE_FEATURES},
}
_SHARES = ("validation", "edge_dropout", "seed_dropout")


@dataclass(frozen=True, slots=True)
class SelectorDataConfig:
    """What the selector is trained and chosen on.

    Args:
        questions: JSON lines of multi-hop questions, each with its gold and other passages.
        leave_out: values of the field ``dataset`` whose questions and passages are not read.
        validation: share of each data set's questions that epochs are chosen on.
        limit: training questions taken, over all data sets; ``None`` takes all.
        weights: how much a data set of n questions counts, in an epoch and in the validation
            score: ``size`` (n) or ``root`` (``sqrt(n)``, so that a small one counts more).
        pairs: pairs of training questions that are joined to one, for each training question;
            see :func:`rag_research.training.question_pairs.question_pairs`.
        untitled: share of the passages that lose their titles in a second copy of the training
            graphs, see :mod:`rag_research.training.untitled`; 0 makes no copy.
        smallest_pool: a data set with fewer passages is searched among those of all data sets,
            so that it has as many distractors as a real corpus.
        off: groups of features the network does not see: ``node.GROUP``, ``edge.GROUP`` or
            ``sentence.FEATURE``.
        edge_dropout: share of the edges that a training step leaves out, in both directions.
        seed_dropout: share of the training graphs whose prior is made uniform.
        batch: graphs in a step.
        store: folder of the encoder's states and the indexes.
        cache: folder of candidate graphs.
    """

    questions: str
    leave_out: tuple[str, ...] = ()
    validation: float = 0.1
    limit: int | None = None
    weights: Literal["size", "root"] = "root"
    pairs: float = 0.33
    untitled: float = 0.5
    smallest_pool: int = 5000
    off: tuple[str, ...] = ()
    edge_dropout: float = 0.1
    seed_dropout: float = 0.0
    batch: int = 8
    store: str = inert(".rag_research")
    cache: str = inert(".rag_research/selector-graphs")

    def __post_init__(self) -> None:
        for name in _SHARES:
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name}: got {getattr(self, name)}, expected [0, 1).")
        if not 0 <= self.untitled <= 1:
            raise ValueError(f"untitled: got {self.untitled}, expected 0 to 1.")
        if self.pairs < 0:
            raise ValueError(f"pairs: got {self.pairs}, expected 0 or more.")
        if self.batch < 1 or (self.limit is not None and self.limit < 1):
            raise ValueError(f"needs batch >= 1 and limit >= 1, got {self.batch}, {self.limit}.")
        known = [f"{kind}.{group}" for kind, groups in FEATURE_GROUPS.items() for group in groups]
        for name in self.off:
            if name not in known:
                raise ValueError(
                    f"off: there is no group {name!r}.{did_you_mean(name, known)} "
                    f"Known: {', '.join(known)}."
                )

    @property
    def files(self) -> tuple[Path, ...]:
        """The one file that is read.

        Raises:
            DataError: it is missing.
        """
        return (existing(Path(self.questions), "file of training questions"),)


@dataclass(frozen=True, slots=True)
class SelectorLossConfig:
    """Weights of the losses in :mod:`rag_research.models.selector_losses`; 0 switches one off.

    Args:
        listwise: each gold passage against all others.
        adversarial_bce: keep or not, of each passage; wrong ones that look right count more.
        full_chain: the listwise loss of the worst gold passage.
        next_hop: probability that a gold passage passes on to the next.
        sentences: listwise, of supporting sentences where they are known.
        positive_weight: of gold passages in ``adversarial_bce``.
    """

    listwise: float = 0.7
    adversarial_bce: float = 0.3
    full_chain: float = 0.3
    next_hop: float = 0.1
    sentences: float = 0.3
    positive_weight: float = 5.0

    def __post_init__(self) -> None:
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        if wrong := [name for name, value in values.items() if value < 0]:
            raise ValueError(f"{wrong[0]}: got {values[wrong[0]]}, expected 0 or more.")
        del values["positive_weight"]
        if not any(values.values()):
            raise ValueError("all losses are switched off; nothing would be learned.")


@dataclass(frozen=True, slots=True)
class SelectorTrainingConfig:
    """Everything one training run of the path selector needs.

    Args:
        data: see :class:`SelectorDataConfig`.
        candidates: how far candidate graphs reach; the released network keeps it.
        network: see :class:`PathSelectorConfig`.
        loss: see :class:`SelectorLossConfig`.
        optimiser: see :class:`OptimiserConfig`.
        trainer: see :class:`TrainerConfig`.
        encoder: frozen; one that shows its tokens.
        seed: governs every random choice.
        device: of the encoder.
        threads: CPU threads of one operator; with more than one the same seed does not always
            give the same weights.
        out: folder of the run: logs, Lightning checkpoints.
        export: file the chosen network is written to, with a card beside; ``None`` exports
            into ``out``.
    """

    data: SelectorDataConfig
    candidates: CandidateConfig = field(default_factory=CandidateConfig)
    network: PathSelectorConfig = field(default_factory=PathSelectorConfig)
    loss: SelectorLossConfig = field(default_factory=SelectorLossConfig)
    optimiser: OptimiserConfig = field(default_factory=lambda: OptimiserConfig(2e-3))
    trainer: TrainerConfig = field(default_factory=lambda: TrainerConfig(epochs=6))
    encoder: Any = slot(ENCODERS, "sentence_encoder")
    seed: int = 0
    device: str = inert("auto")
    threads: int = inert(1)
    out: str = inert("runs/selector")
    export: str | None = inert(None)

    def __post_init__(self) -> None:
        check_seed_and_threads(self.seed, self.threads)
