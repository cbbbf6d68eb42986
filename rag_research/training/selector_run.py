"""The pieces of a training run of the path selector, and its export."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from rag_research.config.build import to_dict
from rag_research.graph.path_data import network_input
from rag_research.graph.selector_checkpoint import save_selector
from rag_research.models.path_selector import PathSelector
from rag_research.registry import ENCODERS
from rag_research.runtime.provenance import provenance
from rag_research.runtime.seeding import seed_everything
from rag_research.training.cards import portable
from rag_research.training.resuming import file_hashes
from rag_research.training.selector_config import FEATURE_GROUPS, SelectorTrainingConfig
from rag_research.training.selector_data import SelectorData
from rag_research.training.selector_module import SelectorModule, question_figures

Figures = dict[str, dict[str, float]]


def selector_parts(config: SelectorTrainingConfig) -> tuple[SelectorModule, SelectorData]:
    """Module and data of a run; reads, encodes and makes candidate graphs."""
    # Several threads add up a gradient in an order of their own: a seed would give many networks.
    torch.set_num_threads(config.threads)
    seed_everything(config.seed)
    encoder = ENCODERS.get(config.encoder.name)(config.encoder)
    data = SelectorData(config.data, config.candidates, encoder, config.seed)
    data.setup()
    seed_everything(config.seed)  # the weights must not depend on what was cached
    node, edge, sentence = (
        sum(len(names) for names in groups.values()) for groups in FEATURE_GROUPS.values()
    )
    network = PathSelector(node, edge, sentence, config.network)
    for kind, (mean, scale) in data.scales().items():
        network.standardise(kind, mean, scale)
    module = SelectorModule(
        network,
        config.loss,
        config.optimiser,
        data.validation_shares,
        config.data.edge_dropout,
        config.data.seed_dropout,
        config.seed,
    )
    return module, data


def validate(network: PathSelector, data: SelectorData) -> Figures:
    """Mean figures of each data set's validation questions."""
    found: Figures = {}
    for name, loader in zip(data.validation_shares, data.val_dataloader(), strict=True):
        with torch.inference_mode():
            each = [
                figures
                for batch in loader
                for figures in question_figures(network(network_input(batch)).passages, batch)
            ]
        found[name] = {
            key: round(100 * sum(q[key] for q in each) / len(each), 2) for key in each[0]
        }
        found[name]["questions"] = len(each)
    return found


def export_selector(
    module: SelectorModule, data: SelectorData, config: SelectorTrainingConfig
) -> tuple[Path, Figures]:
    """Write the network and its card.

    Returns:
        The file of weights, and the validation figures of each data set in percent.
    """
    network = module.network.eval().cpu()
    path = Path(config.export or Path(config.out) / "selector.safetensors")
    figures = validate(network, data)
    # Where things lie on this machine is nobody's business; results do not depend on it.
    told = replace(config, out="", export=None)
    card: dict[str, Any] = {
        "name": path.stem,
        "encoder": _encoder_card(data, config),
        "candidates": to_dict(config.candidates),
        "data": _data_card(data, config),
        "validation": figures,
        "parameters": sum(parameter.numel() for parameter in network.parameters()),
        "config": to_dict(told),
        **provenance(),
    }
    save_selector(path, network, portable(card))
    return path, figures


def _encoder_card(data: SelectorData, config: SelectorTrainingConfig) -> Mapping[str, Any]:
    identity = dict(data.encoder.identity)
    return {
        "model": getattr(config.encoder, "model", config.encoder.name),
        "sha256": identity.get("weights"),
        "identity": identity,
    }


def _data_card(data: SelectorData, config: SelectorTrainingConfig) -> Mapping[str, Any]:
    return {
        "files": file_hashes(config.data.files),
        "left_out": list(config.data.leave_out),
        "off": list(config.data.off),
        "datasets": {
            name: {
                "training": part.train_questions,
                "pairs": part.pairs,
                "untitled": part.untitled,
                "training_graphs": len(part.train),
                "validation": len(part.validation),
                "pool": part.passages,
                "gold": part.gold,
                "missed": part.missed,
            }
            for name, part in data.datasets.items()
        },
    }
