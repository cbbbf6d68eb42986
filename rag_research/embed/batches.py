"""Batches of texts of one length: no padding, so a vector never depends on its neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def equal_length_batches(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Group positions by length, longest first, each group cut at a number of tokens.

    Padding wastes work and changes rounding in low precision: with padded batches the same
    text gets slightly different vectors in different company, and a corpus that grew step by
    step would differ from one encoded at once.

    Args:
        lengths: tokens of each text.
        batch_tokens: most tokens a batch; a longer text is a batch of its own.

    Yields:
        Positions into ``lengths``; every position once.
    """
    order = sorted(range(len(lengths)), key=lambda i: (-lengths[i], i))
    batch: list[int] = []
    for position in order:
        length = lengths[position]
        full = (len(batch) + 1) * length > batch_tokens
        if batch and (full or length != lengths[batch[0]]):
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch
