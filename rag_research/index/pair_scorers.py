"""Relevance logits of (query, text) pairs, from ONNX or from transformers weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from rag_research.embed.batches import equal_length_batches
from rag_research.errors import ConfigError
from rag_research.runtime.onnx import onnx_session

_BATCH_TOKENS = 4096


class PairScorer(Protocol):
    """One relevance logit a pair."""

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """[N] texts -> N logits, higher is more relevant."""
        ...


class OnnxPairs:
    """An ONNX cross-encoder on the CPU.

    Pairs run one at a time, see :func:`~rag_research.runtime.onnx.onnx_session`.

    Args:
        folder: holds ``model.onnx`` and ``tokenizer.json``.
        max_tokens: longer pairs are cut.
        threads: CPU threads of one operator.

    Raises:
        MissingExtraError: onnxruntime is not installed.
    """

    def __init__(self, folder: Path, max_tokens: int, threads: int) -> None:
        from tokenizers import Tokenizer

        self._session = onnx_session(folder, threads, f"The reranker {folder.name}")
        self._inputs = [node.name for node in self._session.get_inputs()]
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(max_tokens)
        self._tokenizer.no_padding()

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """[N] texts -> N logits."""
        import numpy as np

        logits = []
        for text in texts:
            pair = self._tokenizer.encode(query, text)
            known = {
                "input_ids": pair.ids,
                "attention_mask": pair.attention_mask,
                "token_type_ids": pair.type_ids,
            }
            feed = {name: np.asarray([known[name]], dtype=np.int64) for name in self._inputs}
            logits.append(float(self._session.run(None, feed)[0].reshape(-1)[0]))
        return logits


class TransformersPairs:
    """A transformers sequence classifier with one output, in float32.

    Args:
        folder: a transformers model folder.
        max_tokens: longer pairs are cut.
        device: a torch device.
        threads: CPU threads of one operator.

    Raises:
        ConfigError: the model has more than one output.
    """

    def __init__(self, folder: Path, max_tokens: int, device: str, threads: int) -> None:
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        if device == "cpu":
            torch.set_num_threads(threads)
        self._tokenizer = AutoTokenizer.from_pretrained(folder)
        model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32)
        if model.config.num_labels != 1:
            raise ConfigError(
                f"reranker.model: {folder} has {model.config.num_labels} outputs, a cross-encoder "
                "has one. Choose another model."
            )
        self._model = model.eval().requires_grad_(False).to(device)
        self._device = device
        self._max_tokens = max_tokens

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """[N] texts -> N logits."""
        import torch

        pairs = self._tokenizer(
            [query] * len(texts), list(texts), truncation=True, max_length=self._max_tokens
        )
        logits = [0.0] * len(texts)
        lengths = [len(ids) for ids in pairs["input_ids"]]
        for batch in equal_length_batches(lengths, _BATCH_TOKENS):
            feed = {
                name: torch.tensor([values[i] for i in batch], device=self._device)
                for name, values in pairs.items()
            }
            with torch.inference_mode():
                output = self._model(**feed).logits[:, 0].tolist()
            for position, logit in zip(batch, output, strict=True):
                logits[position] = logit
        return logits
