"""A frozen transformer as sentence encoder: pooled, L2-normalised token states."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rag_research.config.build import inert
from rag_research.embed.base import Role, Vectors
from rag_research.embed.batches import equal_length_batches
from rag_research.embed.folder_settings import FolderSettings, Pooling, read_folder_settings
from rag_research.embed.onnx_states import OnnxStates
from rag_research.errors import ConfigError
from rag_research.runtime import onnx
from rag_research.runtime.devices import resolve_device
from rag_research.runtime.weights import ModelFiles, resolve_model


@dataclass(frozen=True, slots=True)
class SentenceEncoderConfig:
    """Which model, and how texts go through it.

    Args:
        model: a local folder, a catalogue name (``rag-research models list``) or a hub id; one
            with ``model.onnx`` runs through onnxruntime, on the CPU, a text at a time.
        precision: arithmetic of a transformers model; vectors are float32 either way. bf16 pays
            on CPUs with bf16 matrix units (AMX) and on GPUs; on others fp32 is the faster one.
        pooling: ``None`` takes what the model's folder says, else ``mean``.
        query_prefix: put before queries; ``None`` takes what the model's folder says, else "".
        passage_prefix: the same for passages.
        max_tokens: longer texts are cut here, special tokens included.
        batch_tokens: most tokens a batch; raise it on a GPU (65,536).
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:INDEX``.
        threads: CPU threads of one operator.
    """

    name: str = "sentence_encoder"
    model: str = "all-minilm-l6-v2"
    precision: Literal["bf16", "fp32"] = "fp32"
    pooling: Pooling | None = None
    query_prefix: str | None = None
    passage_prefix: str | None = None
    max_tokens: int = 256
    batch_tokens: int = inert(4096)
    device: str = inert("auto")
    threads: int = inert(1)

    def __post_init__(self) -> None:
        for name in ("max_tokens", "batch_tokens", "threads"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: got {getattr(self, name)}, expected at least 1.")


class SentenceEncoder:
    """Mean (or first-token) pooling over the last layer of a frozen transformer.

    ``v = normalise(mean_t h_t)`` with ``h`` the last hidden states of the tokens of
    ``prefix + text``. Texts of equal length share a batch, so nothing is padded and, on the
    CPU, a text has the same vector bit for bit in any company.

    Constructing is cheap: identity and dimension read the model's files, the weights load at
    the first call of :meth:`encode`.

    Args:
        config: see :class:`SentenceEncoderConfig`.
    """

    Config = SentenceEncoderConfig

    def __init__(self, config: SentenceEncoderConfig) -> None:
        self.config = config
        self._loading = threading.Lock()

    @cached_property
    def _files(self) -> ModelFiles:
        return resolve_model(self.config.model)

    @cached_property
    def _onnx(self) -> bool:
        return (self._files.path / onnx.FILE).is_file()

    @cached_property
    def _settings(self) -> FolderSettings:
        found = read_folder_settings(self._files.path)
        config = self.config
        return FolderSettings(
            config.pooling or found.pooling,
            found.query_prefix if config.query_prefix is None else config.query_prefix,
            found.passage_prefix if config.passage_prefix is None else config.passage_prefix,
        )

    @cached_property
    def identity(self) -> Mapping[str, str]:
        """Weights hash and everything else that decides a vector."""
        return {
            "encoder": self.config.name,
            "weights": self._files.sha256,
            "precision": self.config.precision,
            "pooling": self._settings.pooling,
            "query_prefix": self._settings.query_prefix,
            "passage_prefix": self._settings.passage_prefix,
            "max_tokens": str(self.config.max_tokens),
        }

    @cached_property
    def dimension(self) -> int:
        """D, the model's hidden size."""
        path = self._files.path / "config.json"
        try:
            return int(json.loads(path.read_text(encoding="utf-8"))["hidden_size"])
        except (OSError, ValueError, KeyError) as error:
            raise ConfigError(
                f"{path} gives no hidden_size ({error!r}); {self.config.model!r} is not a "
                "transformers encoder. Choose another encoder.model."
            ) from error

    @cached_property
    def _loaded(self) -> tuple[Any, Any, str]:
        """Tokenizer, model and device."""
        import torch
        from transformers import AutoModel, AutoTokenizer
        from transformers.utils import logging

        device = resolve_device(self.config.device)
        if device == "cpu":
            torch.set_num_threads(self.config.threads)
        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        tokenizer = AutoTokenizer.from_pretrained(self._files.path)
        if self.config.max_tokens > tokenizer.model_max_length:
            raise ConfigError(
                f"encoder.max_tokens: got {self.config.max_tokens}, but {self.config.model!r} "
                f"reads at most {tokenizer.model_max_length} tokens."
            )
        if self._onnx:
            return tokenizer, OnnxStates(self._files.path, self.config.threads), "cpu"
        dtype = torch.bfloat16 if self.config.precision == "bf16" else torch.float32
        model = AutoModel.from_pretrained(self._files.path, dtype=dtype)
        return tokenizer, model.eval().requires_grad_(False).to(device), device

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """Encode texts, in order.

        Args:
            texts: N strings of any script; an empty one gives a valid vector.
            role: chooses the prefix.

        Shapes:
            [N] -> [N, D]
        """
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        for batch, states in self.token_states(texts, role):
            vectors[batch] = self.pooled([texts[i] for i in batch], states)
        return vectors

    def pooled(self, texts: Sequence[str], states: Any) -> Vectors:
        """The vectors of one batch of :meth:`token_states`.

        Args:
            texts: has no effect; other encoders need more than the states.
            states: a tensor, on any device.

        Shapes:
            [B], [B, T, D] -> [B, D]
        """
        from torch.nn.functional import normalize

        first = self._settings.pooling == "cls"
        pooled = states[:, 0].float() if first else states.float().mean(dim=1)
        vectors: Vectors = normalize(pooled, dim=1).cpu().numpy()
        return vectors

    def token_states(self, texts: Sequence[str], role: Role) -> Iterator[tuple[list[int], Any]]:
        """Last hidden states of every token, before pooling; the special tokens are included.

        Args:
            texts: N strings; what is longer than ``max_tokens`` is cut.
            role: chooses the prefix.

        Yields:
            Positions of texts of equal length, longest first, and a tensor of their states in
            the model's precision, on its device.

        Shapes:
            [N] -> B positions, [B, T, D]
        """
        import torch

        if not len(texts):
            return
        with self._loading:
            _, model, device = self._loaded
        tokens = self._tokenised(texts, role)["input_ids"]
        batch_tokens = 1 if self._onnx else self.config.batch_tokens
        for batch in equal_length_batches([len(t) for t in tokens], batch_tokens):
            rows = torch.tensor([tokens[i] for i in batch], device=device)
            with torch.inference_mode():
                states = model(input_ids=rows).last_hidden_state
            yield batch, states

    def token_offsets(self, texts: Sequence[str], role: Role) -> list[NDArray[np.int32]]:
        """Character ranges of the tokens of :meth:`token_states`; see there.

        Args:
            texts: N strings; tokens past ``max_tokens`` are cut.
            role: chooses the prefix, whose tokens get (0, 0) like the special ones.

        Raises:
            ConfigError: the model has no fast tokenizer.

        Shapes:
            [N] -> N times [T, 2]
        """
        if not len(texts):
            return []
        with self._loading:
            tokenizer = self._loaded[0]
        if not tokenizer.is_fast:
            raise ConfigError(
                f"encoder.model: {self.config.model!r} has a {type(tokenizer).__name__}, which "
                "cannot say where its tokens stand. Use a model with a tokenizer.json."
            )
        shift = len(self._prefix(role))
        found = []
        for pairs in self._tokenised(texts, role, return_offsets_mapping=True)["offset_mapping"]:
            offsets = np.asarray(pairs, dtype=np.int32).reshape(-1, 2)
            found.append(np.maximum(offsets - shift, 0) if shift else offsets)
        return found

    def vocabulary(self) -> list[str]:
        """Tokens of two or more letters and nothing else, in the tokenizer's order."""
        with self._loading:
            tokenizer = self._loaded[0]
        tokens = sorted(tokenizer.get_vocab().items(), key=lambda item: (item[1], item[0]))
        words = (token.lstrip("▁Ġ") for token, _ in tokens)
        return [word for word in dict.fromkeys(words) if len(word) > 1 and word.isalpha()]

    def _prefix(self, role: Role) -> str:
        settings = self._settings
        return settings.query_prefix if role == "query" else settings.passage_prefix

    def _tokenised(self, texts: Sequence[str], role: Role, **ask: bool) -> Any:
        prefix = self._prefix(role)
        return self._loaded[0](
            [_encodable(prefix + text) for text in texts],
            truncation=True,
            max_length=self.config.max_tokens,
            return_attention_mask=False,
            **ask,
        )


def _encodable(text: str) -> str:
    """``text`` with lone surrogates, which tokenizers refuse, replaced by question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")
