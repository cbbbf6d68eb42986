"""A frozen language model in this process, through ``transformers`` and PyTorch."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from rag_research.config.build import inert
from rag_research.errors import LLMError, missing_extra
from rag_research.llm.base import Completion, Message, Request
from rag_research.llm.batching import Batcher
from rag_research.runtime.devices import resolve_device
from rag_research.runtime.weights import resolve_model

if TYPE_CHECKING:
    from rag_research.llm.decoding import Continuation, Decoder, Prompt


@dataclass(frozen=True, slots=True)
class TransformersLocalConfig:
    """Settings of :class:`TransformersLocal`.

    Args:
        model: a local path, a catalogue name or a hub id.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:i``.
        threads: CPU threads of one operator.
        precision: ``int8`` computes linear layers in eight-bit integers (CPU only, several
            times faster on a CPU without matrix units, nearly the same replies); ``bf16``;
            ``fp32``; ``auto`` is int8 on a CPU and bf16 elsewhere.
        batch_size: most sequences generated at the same time.
        batch_tokens: most prompt tokens in one batch, so that memory stays bounded.
        prefix_tokens: tokens of shared prompt beginnings to keep computed; 0 keeps none.
        max_input_tokens: a longer prompt is an error, never cut silently.
    """

    name: str = "transformers_local"
    model: str = "qwen2.5-coder-0.5b-instruct"
    device: str = inert("auto")
    threads: int = inert(1)
    precision: Literal["auto", "int8", "bf16", "fp32"] = "auto"
    batch_size: int = inert(8)
    batch_tokens: int = inert(16384)
    prefix_tokens: int = inert(8192)
    max_input_tokens: int = 8192

    def __post_init__(self) -> None:
        for name in ("threads", "batch_size", "batch_tokens", "max_input_tokens"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: got {getattr(self, name)}, expected at least 1.")
        if self.prefix_tokens < 0:
            raise ValueError(f"prefix_tokens: got {self.prefix_tokens}, expected 0 or more.")


class TransformersLocal:
    """Runs the model on this machine; concurrent requests share one batch.

    Weights load on the first request, so a run whose replies are all cached loads nothing.
    The reply to a request depends on the others in its batch, and on what prompt beginnings
    were computed before, only through the rounding of ``precision``: the order of sums in a
    matrix product changes with its shape, which can tip a near tie between two tokens.
    Sampling draws from a generator of its own for every request, seeded by the request.

    The JSON schema of a request is not enforced while generating. Where the model's chat
    template refuses a system message, its text goes before that of the first user message.

    Args:
        config: see :class:`TransformersLocalConfig`.

    Raises:
        ModelNotFoundError: the model is not on this machine; names the ways to provide it.
    """

    Config = TransformersLocalConfig

    def __init__(self, config: TransformersLocalConfig) -> None:
        self.config = config
        self._device = resolve_device(config.device)
        self._files = resolve_model(config.model)
        on_cpu = "int8" if self._device == "cpu" else "bf16"
        self._precision = on_cpu if config.precision == "auto" else config.precision
        self._loading = threading.Lock()
        self._decoder: Decoder | None = None
        self._tokenizer: Any = None
        self._context = 0
        self._batcher: Batcher[Prompt, Continuation] = Batcher(
            self._run,
            max_size=config.batch_size,
            max_cost=config.batch_tokens,
            cost=lambda prompt: len(prompt.tokens),
        )

    @property
    def identity(self) -> Mapping[str, str]:
        """Backend, model, sha256 of its files, precision."""
        return {
            "backend": "transformers_local",
            "model": self.config.model,
            "sha256": self._files.sha256,
            "precision": self._precision,
        }

    async def complete(self, request: Request) -> Completion:
        """Answer one request.

        ``output_tokens`` counts every generated token, the end token included.

        Raises:
            LLMError: the prompt is longer than ``max_input_tokens``, or does not fit the
                model's context together with ``max_tokens``; the chat template refuses it; or
                the model cannot be loaded.
        """
        started = time.perf_counter()
        await self.prepare()
        prompt = self._prompt(request)
        try:
            done = await self._batcher.submit(prompt)
        except (RuntimeError, MemoryError) as error:  # what torch raises
            raise LLMError(
                f"Generating with {self.config.model} on {self._device} failed: {error}. If memory "
                "ran out, lower llm.batch_size or llm.batch_tokens."
            ) from error
        return Completion(
            text=done.text,
            input_tokens=len(prompt.tokens),
            output_tokens=done.tokens,
            seconds=time.perf_counter() - started,
            finish_reason=done.finish_reason,
        )

    async def prepare(self) -> None:
        """Load the weights if they are not loaded yet; the first request does it otherwise."""
        if self._decoder is None:
            await asyncio.to_thread(self._load)

    def _prompt(self, request: Request) -> Prompt:
        from rag_research.llm.decoding import Prompt

        text = self._text(request)
        tokens = tuple(self._tokenizer(text, add_special_tokens=False)["input_ids"])
        limit = self.config.max_input_tokens
        room = self._context - request.max_tokens
        if len(tokens) > min(limit, room):
            raise LLMError(
                f"The {request.purpose or 'unnamed'} prompt has {len(tokens)} tokens; allowed are "
                f"max_input_tokens={limit}, and {room} beside max_tokens={request.max_tokens} in "
                f"the context of {self._context} tokens of {self.config.model}. Send fewer or "
                "shorter passages, or raise llm.max_input_tokens if that is the limit."
            )
        return Prompt(
            tokens=tokens,
            key=request.prompt,
            max_tokens=request.max_tokens,
            temperature=request.temperature,
            seed=request.seed,
            stop=request.stop,
        )

    def _text(self, request: Request) -> str:
        from jinja2 import TemplateError

        try:
            return self._in_template(request.messages)
        except TemplateError:  # most often one that knows no system message
            pass
        try:
            return self._in_template(_without_system(request.messages))
        except TemplateError as error:
            roles = ", ".join(message.role for message in request.messages)
            raise LLMError(
                f"The chat template of {self.config.model} refuses the "
                f"{request.purpose or 'unnamed'} prompt (messages: {roles}), also with the system "
                f"message joined to the user's: {error}. Use another model, or change the prompt "
                "file (setting prompts)."
            ) from error

    def _in_template(self, messages: Sequence[Message]) -> str:
        chat = [{"role": m.role, "content": m.content} for m in messages]
        return str(
            self._tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
        )

    def _load(self) -> None:
        with self._loading:
            if self._decoder is not None:
                return
            try:
                import torch
                import transformers  # noqa: F401
            except ImportError as error:
                raise missing_extra(str(error.name), "local", "The local model") from error
            from rag_research.llm.decoding import Decoder
            from rag_research.llm.loading import load
            from rag_research.llm.prefix_cache import PrefixCache

            torch.set_num_threads(self.config.threads)
            model, tokenizer = load(self._files, self._precision, self._device)
            self._tokenizer = tokenizer
            self._context = model.config.max_position_embeddings
            kept = self.config.prefix_tokens
            self._decoder = Decoder(
                model,
                lambda ids: str(tokenizer.decode(ids, skip_special_tokens=True)),
                _end_tokens(model, tokenizer),
                PrefixCache(kept) if kept else None,
            )

    def _run(self, work: Batcher[Prompt, Continuation]) -> None:
        import torch

        assert self._decoder is not None
        torch.set_num_threads(self.config.threads)  # the count belongs to the calling thread
        self._decoder.run(work)


def _without_system(messages: Sequence[Message]) -> list[Message]:
    """The chat with what the system says at the head of the first user message."""
    said = [m.content for m in messages if m.role == "system"]
    chat = [m for m in messages if m.role != "system"]
    first = next((i for i, m in enumerate(chat) if m.role == "user"), None)
    if first is not None:
        chat[first] = Message("user", "\n\n".join([*said, chat[first].content]))
    return chat


def _end_tokens(model: Any, tokenizer: Any) -> frozenset[int]:
    given = model.generation_config.eos_token_id
    several = given if isinstance(given, list) else [given]
    return frozenset(t for t in (*several, tokenizer.eos_token_id) if t is not None)
