"""How well a ranking finds the gold passages."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rag_research.errors import ConfigError


def recall_at_k(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """``|gold found in ranked[:k]| / |gold|``.

    Args:
        ranked: ids, best first.
        gold: ids of the gold passages, at least one; repeats count once.
        k: cut-off, at least 1.

    Raises:
        ConfigError: no gold ids, or k below 1.
    """
    wanted = set(gold)
    if not wanted or k < 1:
        raise ConfigError(f"recall@k needs gold ids and k >= 1, got {len(wanted)} ids and k={k}.")
    return len(wanted & set(ranked[:k])) / len(wanted)


def full_chain(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """1 if ``ranked[:k]`` holds every gold id, else 0; arguments as for :func:`recall_at_k`."""
    return float(recall_at_k(ranked, gold, k) == 1.0)
