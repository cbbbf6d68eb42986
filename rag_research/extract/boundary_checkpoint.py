"""Released boundary networks: weights in safetensors, everything else in a JSON card beside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_research.config.build import build
from rag_research.extract.boundaries import DecodingConfig
from rag_research.extract.boundary_features import VERSIONS, Mode
from rag_research.extract.word_table import WordTable
from rag_research.runtime.checkpoints import check_features, find_checkpoint, read_card, write_card

if TYPE_CHECKING:
    from rag_research.models.boundary_mlp import BoundaryMLP

_NETWORK = "network."


@dataclass(frozen=True, slots=True)
class BoundaryCheckpoint:
    """A network and what it needs to read text.

    Args:
        network: in evaluation mode, on the CPU.
        table: the static word vectors of both modes.
        card: ``mode``, ``hidden``, ``feature_version``, ``encoder`` (``model``, ``sha256``
            and the training states' ``precision``; ``None`` for light), ``states`` (what is read
            of them), ``decoding``, and how the network came about.
        name: for messages and fingerprints.
    """

    network: BoundaryMLP
    table: WordTable
    card: Mapping[str, Any]
    name: str

    @property
    def mode(self) -> Mode:
        """Which features the network reads."""
        mode: Mode = self.card["mode"]
        return mode

    @property
    def decoding(self) -> DecodingConfig:
        """The decoder and threshold chosen on validation documents."""
        return build(DecodingConfig, self.card["decoding"])


def save_checkpoint(
    path: Path, network: BoundaryMLP, table: WordTable, card: Mapping[str, Any]
) -> None:
    """Write ``path`` (``.safetensors``) and its card (``.json``); weights in half precision."""
    import torch
    from safetensors.torch import save_file

    state = network.state_dict()
    # Feature scales span orders of magnitude, so they keep full precision.
    tensors = {
        _NETWORK + name: value.float() if name in ("mean", "scale") else value.half()
        for name, value in state.items()
    }
    tensors |= {name: torch.from_numpy(array.copy()) for name, array in table.tensors().items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file({name: value.contiguous() for name, value in tensors.items()}, path)
    write_card(path, card)


def load_checkpoint(name: str) -> BoundaryCheckpoint:
    """Read a released network.

    Args:
        name: of a released one (``boundary-light``), or the path of a ``.safetensors`` file.

    Raises:
        ModelNotFoundError: there is no such file.
        ArtifactError: made for another version of the features.
    """
    import torch
    from safetensors.numpy import load_file

    from rag_research.models.boundary_mlp import BoundaryMLP

    path = find_checkpoint(name, "boundary")
    card = read_card(path)
    check_features(path, card, VERSIONS[card["mode"]], "boundary")
    tensors = load_file(path)
    state = {
        key.removeprefix(_NETWORK): torch.from_numpy(value).float()
        for key, value in tensors.items()
        if key.startswith(_NETWORK)
    }
    network = BoundaryMLP(len(state["mean"]), card["hidden"])
    network.load_state_dict(state)
    return BoundaryCheckpoint(network.eval(), WordTable.from_tensors(tensors), card, path.stem)


def load_table(name: str) -> WordTable:
    """The word table of a network of any version of the features.

    Args:
        name: as for :func:`load_checkpoint`.

    Raises:
        ModelNotFoundError: there is no such file.
    """
    from safetensors.numpy import load_file

    return WordTable.from_tensors(load_file(find_checkpoint(name, "boundary")))
