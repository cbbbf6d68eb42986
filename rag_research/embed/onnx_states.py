"""Token states of an encoder that comes as an ONNX file."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from rag_research.errors import ConfigError
from rag_research.runtime.onnx import onnx_session

OUTPUT = "last_hidden_state"


class OnnxStates:
    """An ONNX encoder, called as a transformers model is.

    Args:
        folder: holds ``model.onnx``.
        threads: CPU threads of one operator.

    Raises:
        MissingExtraError: onnxruntime is not installed.
        ConfigError: the model does not give its last hidden states.
    """

    def __init__(self, folder: Path, threads: int) -> None:
        self._session = onnx_session(folder, threads, f"The encoder {folder.name}")
        outputs = [node.name for node in self._session.get_outputs()]
        if OUTPUT not in outputs:
            raise ConfigError(
                f"encoder.model: {folder} gives {', '.join(outputs)}, expected {OUTPUT}. Export "
                "the encoder with its token states, or name its transformers weights."
            )
        self._inputs = [node.name for node in self._session.get_inputs()]

    def __call__(self, input_ids: Any) -> Any:
        """States of one text.

        Shapes:
            [1, T] -> ``.last_hidden_state`` [1, T, D]
        """
        import torch

        ids = input_ids.numpy()
        known = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        states = self._session.run([OUTPUT], {name: known[name] for name in self._inputs})[0]
        return SimpleNamespace(last_hidden_state=torch.from_numpy(states))
