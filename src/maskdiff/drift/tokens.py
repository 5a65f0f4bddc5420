"""How the tokens of the scored rows differ from those of the normal rows the model learned from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maskdiff.drift.statistics import STRONG, Change, distance_by_chance, total_variation

# A token's share has changed when it moved by this many standard deviations. High, because there are thousands of
# tokens, and those of one text are not independent, so that they vary more than independent draws.
MIN_DEVIATIONS = 6.0
MAX_CHANGES = 60


@dataclass(frozen=True)
class TokenDrift:
    """How far the tokens moved, all together. `distance` and `by_chance` as for a column; `changes` are the tokens
    whose shares changed by more than chance, the least likely first."""

    n_tokens: int
    distance: float
    by_chance: float
    unseen: float
    changes: tuple[Change, ...]
    new: tuple[tuple[str, int], ...]

    @property
    def strong(self) -> bool:
        """Whether the drift beyond chance is so large that the promise about false alarms may not hold."""
        return self.distance - self.by_chance >= STRONG


def token_drift(
    labels: Sequence[str], learned: NDArray[np.int64], scored: NDArray[np.int64], new: tuple[tuple[str, int], ...]
) -> TokenDrift:
    """How the tokens drifted; the counts have one more entry than there are labels, for tokens never seen."""
    n, m = max(1, int(learned.sum())), max(1, int(scored.sum()))
    before, now, pooled = learned / n, scored / m, (learned + scored) / (n + m)
    deviation = np.sqrt(np.maximum(pooled * (1 - pooled) * (1 / n + 1 / m), 1e-30))
    moved = np.abs(now - before)[: len(labels)] / deviation[: len(labels)]
    order = [int(at) for at in np.argsort(-moved, kind="stable")[:MAX_CHANGES] if moved[at] >= MIN_DEVIATIONS]
    return TokenDrift(
        n_tokens=int(scored.sum()),
        distance=total_variation(before, now) if scored.any() else 0.0,
        by_chance=distance_by_chance(learned, scored),
        unseen=float(now[-1]),
        changes=tuple(Change(str(labels[at]), float(before[at]), float(now[at])) for at in order if scored.any()),
        new=new,
    )
