"""Released path selectors: weights in safetensors, everything else in a JSON card beside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_research.config.build import build, to_dict
from rag_research.graph.path_candidates import CandidateConfig
from rag_research.graph.path_features import VERSION
from rag_research.runtime.checkpoints import check_features, find_checkpoint, read_card, write_card

if TYPE_CHECKING:
    from rag_research.models.path_selector import PathSelector


@dataclass(frozen=True, slots=True)
class SelectorCheckpoint:
    """A network and what it needs.

    Args:
        network: in evaluation mode, on the CPU.
        card: ``network`` (its size), ``candidates`` (how its graphs are made),
            ``feature_version``, ``encoder`` it was trained with, and how it came about.
        name: for messages.
    """

    network: PathSelector
    card: Mapping[str, Any]
    name: str

    @property
    def candidates(self) -> CandidateConfig:
        """The settings its training graphs were made with."""
        return build(CandidateConfig, self.card["candidates"])


def save_selector(path: Path, network: PathSelector, card: Mapping[str, Any]) -> None:
    """Write ``path`` (``.safetensors``) and its card (``.json``)."""
    from safetensors.torch import save_file

    path.parent.mkdir(parents=True, exist_ok=True)
    save_file({k: v.detach().cpu().contiguous() for k, v in network.state_dict().items()}, path)
    own = {"network": to_dict(network.config), "feature_version": VERSION}
    write_card(path, {**card, **own})


def load_selector(name: str) -> SelectorCheckpoint:
    """Read a released selector.

    Args:
        name: of a released one (``selector-minilm``), or the path of a ``.safetensors`` file.

    Raises:
        ModelNotFoundError: there is no such file.
        ArtifactError: made for another version of the features.
    """
    from safetensors.torch import load_file

    from rag_research.models.path_selector import PathSelector, PathSelectorConfig

    path = find_checkpoint(name, "selector")
    card = read_card(path)
    check_features(path, card, VERSION, "selector")
    state = load_file(path)
    nodes, edges, sentences = (len(state[f"{k}_mean"]) for k in ("node", "edge", "sentence"))
    config = build(PathSelectorConfig, card["network"])
    network = PathSelector(nodes, edges, sentences, config)
    network.load_state_dict(state)
    return SelectorCheckpoint(network.eval(), card, path.stem)
