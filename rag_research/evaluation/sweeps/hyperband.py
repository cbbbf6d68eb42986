r"""Early stop as wandb does it: at each of a few reports, only the best share goes on.

Source: Li et al., "Hyperband: A Novel Bandit-Based Approach to Hyperparameter Optimization",
JMLR 2018, in the asynchronous form that wandb's sweeps use: a trial is compared with all that
have come as far, so nobody waits for anybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_BANDS = 100


@dataclass(frozen=True, slots=True)
class Hyperband:
    """When a trial is stopped. Give ``min_iter``, or ``max_iter`` with ``s``.

    Args:
        min_iter: reports before the first band; the next ones are ``eta`` times as far.
        max_iter: reports of a whole trial; bands are ``max_iter / eta``, ``max_iter / eta**2``...
        s: how many bands, with ``max_iter``.
        eta: at each band the best ``1/eta`` of the trials go on.
        strict: look at the report of the band, not at the best one so far.
    """

    min_iter: int | None = None
    max_iter: int | None = None
    s: int | None = None
    eta: float = 3.0
    strict: bool = True

    def __post_init__(self) -> None:
        if (self.min_iter is None) == (self.max_iter is None):
            raise ValueError("needs either min_iter, or max_iter and s.")
        if self.max_iter is not None and self.s is None:
            raise ValueError("max_iter needs s, the number of bands.")
        if self.eta <= 1 or (self.min_iter is not None and self.min_iter < 1):
            raise ValueError(f"needs eta > 1 and min_iter >= 1, got {self.eta}, {self.min_iter}.")
        if not self.bands():
            raise ValueError("no band is left; raise s or max_iter, or lower eta.")

    def bands(self) -> list[int]:
        """The numbers of reports at which trials are compared, ascending."""
        if self.min_iter is not None:
            return [int(self.min_iter * self.eta**n) for n in range(_BANDS)]
        assert self.max_iter is not None and self.s is not None
        found = [self.max_iter / self.eta**n for n in range(1, self.s + 1)]
        return sorted(int(band) for band in found if band >= 1)

    def stops(self, own: Sequence[float], others: Sequence[Sequence[float]]) -> bool:
        """Whether a trial should end now.

        Args:
            own: what the trial has reported so far; smaller is better.
            others: the same of all other trials, ended ones included.
        """
        reached = [band for band in self.bands() if band <= len(own)]
        if not reached:
            return False
        band = reached[-1]
        at_band = sorted(h[band - 1] for h in [own, *others] if len(h) >= band)
        threshold = at_band[int(1 / self.eta * len(at_band))]
        return (own[band - 1] if self.strict else min(own)) > threshold
