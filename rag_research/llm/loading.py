"""From model files to a model in memory; GGUF is dequantised once and kept as safetensors."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock
from torch import nn

from rag_research.errors import ConfigError, LLMError, missing_extra
from rag_research.llm.int8_linear import Int8Linear
from rag_research.runtime.weights import ModelFiles, cache_folder

# What the model computes in beside its linear layers, and what a converted GGUF is stored in.
DTYPES = {"bf16": torch.bfloat16, "fp32": torch.float32, "int8": torch.float32}
STORED = {"bf16": "bf16", "fp32": "fp32", "int8": "bf16"}


class PackedLinear(nn.Module):
    """A linear layer for inference on a CPU, its weight stored in oneDNN's own layout.

    An ordinary layer brings the weight into that layout in every call, which for a batch of a
    few tokens takes as long as the product itself.

    Args:
        linear: the layer to take over.

    Shapes:
        input ``[..., in_features]``, output ``[..., out_features]``.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.packed = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), None)
        self.bias = linear.bias

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """``inputs @ weight.T + bias``."""
        return torch.ops.mkldnn._linear_pointwise(  # type: ignore[no-any-return]
            inputs, self.packed, self.bias, "none", [], ""
        )


def load(files: ModelFiles, precision: str, device: str) -> tuple[Any, Any]:
    """The model in eval mode on its device, and its tokenizer.

    Args:
        files: a folder of safetensors, or a GGUF file (or a folder with just one).
        precision: ``bf16``, ``fp32``, or ``int8`` (linear layers only, on a CPU).
        device: a torch device string.

    Raises:
        ConfigError: ``int8`` on another device.
        LLMError: the files are not a causal language model with a chat template.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils.logging import disable_progress_bar

    if precision == "int8" and device != "cpu":
        raise ConfigError(f"llm.precision: int8 runs on the CPU only, the device is {device}.")
    folder = safetensors_folder(files, STORED[precision])
    disable_progress_bar()  # type: ignore[no-untyped-call]  # opening safetensors takes a second; a conversion shows its bar
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
        model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=DTYPES[precision])
    except (OSError, ValueError) as error:
        raise LLMError(
            f"{folder} cannot be loaded as a causal language model: {error} Expected config.json, "
            "safetensors and tokenizer files, or a .gguf file."
        ) from error
    if not tokenizer.chat_template:
        raise LLMError(
            f"The tokenizer in {folder} has no chat template, so it is a base model. Use an "
            "instruction-tuned model."
        )
    model = model.to(device).eval().requires_grad_(False)
    packable = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    if precision == "int8":
        replace_linears(model, Int8Linear)
    elif device == "cpu" and packable:
        replace_linears(model, PackedLinear)
    return model, tokenizer


def safetensors_folder(files: ModelFiles, precision: str) -> Path:
    """Where the model lies as safetensors, converted first if it is a GGUF file.

    Args:
        files: the model.
        precision: of the stored weights.
    """
    gguf = _gguf_of(files.path)
    if gguf is None:
        return files.path
    converted = cache_folder() / "converted"
    target = converted / f"{files.sha256[:16]}-{precision}"
    if target.exists():
        return target
    converted.mkdir(parents=True, exist_ok=True)
    with FileLock(converted / f".lock-{target.name}"):
        if not target.exists():
            draft = converted / f".draft-{target.name}"
            shutil.rmtree(draft, ignore_errors=True)
            _dequantize(gguf, draft, precision)
            draft.rename(target)
    return target


def replace_linears(module: nn.Module, layer: Callable[[nn.Linear], nn.Module]) -> None:
    """Replace every linear layer below ``module`` by ``layer`` made from it."""
    for name, child in list(module.named_children()):
        if type(child) is nn.Linear:
            setattr(module, name, layer(child))
        else:
            replace_linears(child, layer)


def _gguf_of(path: Path) -> Path | None:
    if path.is_file():
        if path.suffix == ".gguf":
            return path
        raise LLMError(f"{path} is neither a .gguf file nor a folder of safetensors.")
    found = sorted(path.glob("*.gguf"))
    if not found or any(path.glob("*.safetensors")):
        return None
    if len(found) > 1:
        raise LLMError(
            f"{path} holds {len(found)} GGUF files: {', '.join(f.name for f in found)}. Give the "
            "path of one of them as the model."
        )
    return found[0]


def _dequantize(gguf: Path, target: Path, precision: str) -> None:
    for module in ("gguf", "accelerate"):
        try:
            __import__(module)
        except ImportError as error:
            raise missing_extra(module, "local", "Reading a GGUF model") from error
    from transformers import AutoModelForCausalLM, AutoTokenizer

    extra: dict[str, Any] = {}
    try:
        from transformers import GgufConfig
    except ImportError:  # older releases always dequantise
        pass
    else:
        extra["quantization_config"] = GgufConfig(dequantize=True)
    names: dict[str, Any] = {"gguf_file": gguf.name}
    try:
        tokenizer = AutoTokenizer.from_pretrained(gguf.parent, **names)
        model = AutoModelForCausalLM.from_pretrained(
            gguf.parent, dtype=DTYPES[precision], **names, **extra
        )
    except (OSError, ValueError, NotImplementedError) as error:
        raise LLMError(f"{gguf} cannot be read as a GGUF language model: {error}") from error
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)
