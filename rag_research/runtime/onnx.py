"""Sessions of onnxruntime on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rag_research.errors import missing_extra

FILE = "model.onnx"


def onnx_session(folder: Path, threads: int, wanted_by: str) -> Any:
    """The model in ``folder`` as an ``onnxruntime.InferenceSession``.

    Feed texts one at a time: an int8 model chooses its scales from everything in a batch, so a
    text would otherwise come out differently in other company.

    Args:
        folder: holds ``model.onnx``.
        threads: of one operator.
        wanted_by: for the message when onnxruntime is missing.

    Raises:
        MissingExtraError: onnxruntime is not installed.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise missing_extra("onnxruntime", "onnx", wanted_by) from error

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(
        str(folder / FILE), options, providers=["CPUExecutionProvider"]
    )
