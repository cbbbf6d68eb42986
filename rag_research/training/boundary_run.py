"""The pieces of a training run of the boundary network, and its export."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rag_research.config.build import build, to_dict
from rag_research.embed.sentence_encoder import SentenceEncoder
from rag_research.extract.boundaries import DecodingConfig
from rag_research.extract.boundary_checkpoint import load_table, save_checkpoint
from rag_research.extract.boundary_features import VERSIONS
from rag_research.models.boundary_mlp import BoundaryMLP
from rag_research.models.losses import balancing_weight
from rag_research.runtime.provenance import provenance
from rag_research.runtime.seeding import seed_everything
from rag_research.training.boundary_config import BoundaryTrainingConfig
from rag_research.training.boundary_data import BoundaryData
from rag_research.training.boundary_module import BoundaryModule
from rag_research.training.boundary_rows import split_files
from rag_research.training.boundary_scores import average_precision, by_kind, choose_decoding, score
from rag_research.training.cards import portable
from rag_research.training.resuming import file_hashes

MONITOR = "val/average_precision"
Figures = dict[str, dict[str, float]]


def boundary_parts(config: BoundaryTrainingConfig) -> tuple[BoundaryModule, BoundaryData]:
    """Module and data of a run; reads and encodes the documents."""
    # Several threads add up a gradient in an order of their own: a seed would give many networks.
    torch.set_num_threads(config.threads)
    seed_everything(config.seed)
    contextual = config.mode == "contextual"
    encoder = None
    if contextual or config.table is None:
        settings = {
            "model": config.model,
            "precision": config.precision,
            "threads": config.threads,
        }
        encoder = SentenceEncoder(build(SentenceEncoder.Config, settings))
    data = BoundaryData(
        config.data,
        encoder,
        contextual=contextual,
        table=load_table(config.table) if config.table else None,
        table_words=config.table_words,
        seed=config.seed,
    )
    data.setup()
    assert data.train_rows is not None
    shape = config.network
    network = BoundaryMLP(
        data.train_rows.features.shape[1], shape.hidden, shape.dropout, shape.input_dropout
    )
    network.standardise(*data.scales())
    weight = balancing_weight(torch.from_numpy(data.train_rows.targets))
    module = BoundaryModule(
        network, config.loss, config.optimiser, weight, data.validation_documents, config.seed
    )
    return module, data


def export_boundary(
    module: BoundaryModule, data: BoundaryData, config: BoundaryTrainingConfig
) -> tuple[Path, Figures]:
    """Choose the decoding on validation documents and write network, table and card.

    Returns:
        The file of weights, and the validation figures by kind of document.
    """
    network = module.network.eval().cpu()
    assert data.table is not None
    path = Path(config.export or Path(config.out) / "boundary.safetensors")
    logits = _logits(network, data.validation_rows.features)
    decoding = choose_decoding(data.validation_documents, logits)
    figures = _figures(data, logits, decoding)
    card: dict[str, Any] = {
        "name": path.stem,
        "mode": config.mode,
        "feature_version": VERSIONS[config.mode],
        "hidden": list(config.network.hidden),
        "encoder": _encoder_card(data, config),
        "states": config.data.states if config.mode == "contextual" else None,
        "decoding": to_dict(decoding),
        "validation": figures,
        "data": _data_card(config),
        "training_rows": len(data.train_rows.targets) if data.train_rows else 0,
        "config": to_dict(config),
        **provenance(),
    }
    save_checkpoint(path, network, data.table, portable(card))
    return path, figures


def _logits(network: BoundaryMLP, features: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    with torch.inference_mode():
        parts = [
            network(torch.from_numpy(features[i : i + 8192]).float()).numpy()
            for i in range(0, len(features), 8192)
        ]
    return np.concatenate(parts)


def _figures(data: BoundaryData, logits: np.ndarray[Any, Any], decoding: DecodingConfig) -> Figures:
    documents = data.validation_documents
    figures: Figures = {}
    for kind, (numbers, rows) in by_kind(documents).items():
        found = asdict(score([documents[i] for i in numbers], logits[rows], decoding))
        found["average_precision"] = average_precision(
            data.validation_rows.targets[rows], logits[rows]
        )
        figures[kind] = {name: round(value, 3) for name, value in found.items()}
        figures[kind]["documents"] = len(numbers)
    return figures


def _encoder_card(data: BoundaryData, config: BoundaryTrainingConfig) -> Mapping[str, str] | None:
    if config.mode == "light" or data.encoder is None:
        return None
    identity = data.encoder.identity
    return {
        "model": config.model,
        "sha256": identity["weights"],
        "precision": identity["precision"],
    }


def _data_card(config: BoundaryTrainingConfig) -> dict[str, Any]:
    training, validation = split_files(config.data, config.seed)
    return {
        "files": file_hashes(config.data.files),
        "training": len(training),
        "validation": len(validation),
    }
