"""Token by token: prefill, join the running batch, step, leave it.

Rows of a batch have unequal lengths, so their key-value states are padded on the left and the
padding is masked. Prompts are prefilled one at a time: a prompt of a few hundred tokens keeps
the arithmetic units busy by itself, and padding would be wasted work.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers.cache_utils import DynamicCache, DynamicLayer

from rag_research.llm.batching import Batcher, Ticket
from rag_research.llm.prefix_cache import Layers, PrefixCache

_ROOM = 64
"""Tokens a batch can grow before its states are copied into a larger buffer."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One sequence to continue.

    Args:
        tokens: the whole prompt, at least one token.
        key: prompts of the same key often begin alike.
        max_tokens: most tokens to generate.
        temperature: 0 takes the likeliest token.
        seed: for sampling; the same seed draws the same tokens in any batch.
        stop: strings that end the reply.
    """

    tokens: tuple[int, ...]
    key: str = ""
    max_tokens: int = 256
    temperature: float = 0.0
    seed: int = 0
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Continuation:
    """What was generated.

    Args:
        text: without the end token and without the stop string.
        tokens: how many tokens were generated, the end token included.
        finish_reason: ``"stop"`` or ``"length"``.
    """

    text: str
    tokens: int
    finish_reason: str


Work = Batcher[Prompt, Continuation]


class _RoomyLayer(DynamicLayer):  # type: ignore[no-untyped-call]
    """A layer of states with room to grow: a step writes one column, not a whole new copy."""

    def __init__(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.dtype, self.device = keys.dtype, keys.device
        self.is_initialized = True
        self.keys, self.values = keys, values
        self.buffers = keys, values  # full, so the first update makes room

    @property
    def width(self) -> int:
        """Columns in use, padding included."""
        return int(self.states[0].shape[2])

    @property
    def states(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values in use."""
        assert self.keys is not None and self.values is not None
        return self.keys, self.values

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        del args, kwargs
        used, end = self.width, self.width + key_states.shape[2]
        if end > self.buffers[0].shape[2]:
            keys, values = self.states
            self.buffers = _widen(keys, end + _ROOM), _widen(values, end + _ROOM)
        for buffer, new in zip(self.buffers, (key_states, value_states), strict=True):
            buffer[:, :, used:end] = new
        self.keys, self.values = (buffer[:, :, :end] for buffer in self.buffers)
        return self.states


@dataclass(slots=True)
class _Row:
    ticket: Ticket[Prompt, Continuation]
    length: int
    generator: torch.Generator | None
    generated: list[int] = field(default_factory=list)


class Decoder:
    """Continues prompts in one growing and shrinking batch.

    Args:
        model: a causal language model of ``transformers``, in eval mode.
        detokenize: token ids -> text, special tokens left out.
        end_tokens: ids that end a reply.
        prefixes: states of prompt beginnings, or ``None`` to compute every prompt whole.
    """

    def __init__(
        self,
        model: Any,
        detokenize: Callable[[Sequence[int]], str],
        end_tokens: frozenset[int],
        prefixes: PrefixCache | None,
    ) -> None:
        self.model, self.detokenize = model, detokenize
        self.end_tokens, self.prefixes = end_tokens, prefixes
        # transformers renamed this argument; both names are in use.
        named = inspect.signature(model.forward).parameters
        self._cache_name = "cache" if "cache" in named else "past_key_values"
        self._device = next(model.parameters()).device

    def run(self, work: Work) -> None:
        """The engine of a :class:`~rag_research.llm.batching.Batcher`."""
        with torch.inference_mode():
            rows: list[_Row] = []
            layers: list[_RoomyLayer] = []
            while True:
                taken = work.take()
                if not taken and not rows:
                    return
                kept = [i for i, row in enumerate(rows) if not row.ticket.abandoned]
                fresh = [(row, part) for row, part in map(self._prefill, taken)]
                alive = [not self._deliver(work, row) for row, _ in fresh]
                fresh = [pair for pair, lives in zip(fresh, alive, strict=True) if lives]
                if fresh or len(kept) < len(rows):
                    layers = _rebuild(rows, layers, kept, fresh)
                    rows = [rows[i] for i in kept] + [row for row, _ in fresh]
                if not rows:
                    continue
                self._step(rows, layers)
                kept = [i for i, row in enumerate(rows) if not self._deliver(work, row)]
                if len(kept) < len(rows):
                    layers = _rebuild(rows, layers, kept, [])
                    rows = [rows[i] for i in kept]

    def _prefill(self, ticket: Ticket[Prompt, Continuation]) -> tuple[_Row, Layers]:
        prompt = ticket.item
        covered = 0
        states: Layers = []
        if self.prefixes is not None:
            covered, states = self.prefixes.find(prompt.key, prompt.tokens)
        layers = [_RoomyLayer(keys, values) for keys, values in states]
        rest = torch.tensor([prompt.tokens[covered:]], device=self._device)
        positions = torch.arange(covered, len(prompt.tokens), device=self._device)[None]
        cache: Any = DynamicCache()
        if layers:
            cache.layers = layers
        logits = self._forward(rest, positions, cache, None)
        done = [(layer.keys, layer.values) for layer in cache.layers]
        if self.prefixes is not None and not covered:
            self.prefixes.add(prompt.key, prompt.tokens, done)
        generator = None
        if prompt.temperature > 0:
            generator = torch.Generator().manual_seed(prompt.seed)
        row = _Row(ticket, len(prompt.tokens), generator)
        row.generated.append(_choose(logits[0], row))
        return row, done

    def _step(self, rows: list[_Row], layers: list[_RoomyLayer]) -> None:
        width = layers[0].width
        tokens = torch.tensor([[row.generated[-1]] for row in rows], device=self._device)
        positions = torch.tensor([[row.length] for row in rows], device=self._device)
        mask = None
        if any(row.length < width for row in rows):
            columns = torch.arange(width + 1, device=self._device)
            mask = (columns >= width - positions).long()
        cache: Any = DynamicCache()
        cache.layers = layers
        logits = self._forward(tokens, positions, cache, mask)
        for row, row_logits in zip(rows, logits, strict=True):
            row.length += 1
            row.generated.append(_choose(row_logits, row))

    def _forward(
        self,
        tokens: torch.Tensor,
        positions: torch.Tensor,
        cache: DynamicCache,
        mask: torch.Tensor | None,
    ) -> torch.Tensor:
        """Logits of the last position, ``[B, vocabulary]``, on the CPU."""
        out = self.model(
            input_ids=tokens,
            position_ids=positions,
            attention_mask=mask,
            use_cache=True,
            logits_to_keep=1,
            **{self._cache_name: cache},
        )
        logits: torch.Tensor = out.logits[:, -1].float().cpu()
        return logits

    def _deliver(self, work: Work, row: _Row) -> bool:
        """Hand over a reply that has ended; whether it has."""
        prompt, tokens = row.ticket.item, row.generated
        ended = tokens[-1] in self.end_tokens
        text = None
        if prompt.stop:
            text = self.detokenize(tokens[: len(tokens) - ended])
            found = [at for stop in prompt.stop if (at := text.find(stop)) >= 0]
            if found:
                text, ended = text[: min(found)], True
        if not ended and len(tokens) < prompt.max_tokens:
            return False
        if text is None:
            text = self.detokenize(tokens[: len(tokens) - ended])
        reason = "stop" if ended else "length"
        work.finish(row.ticket, Continuation(text, len(tokens), reason))
        return True


def _choose(logits: torch.Tensor, row: _Row) -> int:
    temperature = row.ticket.item.temperature
    if row.generator is None:
        return int(logits.argmax())
    weights = torch.softmax(logits / temperature, dim=-1)
    return int(torch.multinomial(weights, 1, generator=row.generator))


def _widen(states: torch.Tensor, width: int) -> torch.Tensor:
    buffer = states.new_empty(*states.shape[:2], width, states.shape[3])
    buffer[:, :, : states.shape[2]] = states
    return buffer


def _rebuild(
    rows: list[_Row],
    layers: list[_RoomyLayer],
    kept: list[int],
    fresh: list[tuple[_Row, Layers]],
) -> list[_RoomyLayer]:
    """The states of the kept rows and the fresh ones, padded on the left to one width."""
    lengths = [rows[i].length for i in kept] + [row.length for row, _ in fresh]
    if not lengths:
        return []
    width = max(lengths)
    built = []
    for index in range(len(fresh[0][1]) if fresh else len(layers)):
        pair = []
        for which in range(2):
            parts = [layers[index].states[which][i] for i in kept]
            parts += [states[index][which][0] for _, states in fresh]
            heads, _, size = parts[0].shape
            joined = parts[0].new_zeros(len(parts), heads, width + _ROOM, size)
            for b, (part, length) in enumerate(zip(parts, lengths, strict=True)):
                joined[b, :, width - length : width] = part[:, -length:]
            pair.append(joined)
        built.append(_RoomyLayer(pair[0][:, :, :width], pair[1][:, :, :width]))
        built[-1].buffers = pair[0], pair[1]
    return built
