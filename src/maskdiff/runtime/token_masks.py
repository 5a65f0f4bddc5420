"""Which tokens each view of a row hides: the masks of the detector, from the same hash of (seed, level, view, token).

B rows, K views over all levels, F tokens.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .views import Masks

_EXACT_LIMIT, _FEWEST_VIEWS = 20, 3


@dataclass(frozen=True)
class TokenGrid:
    """A probe grid, as the model describes it."""

    rates: tuple[float, ...]
    views_per_level: int
    fewer_views_beyond: int | None
    design: str
    seed: int
    per_level: bool
    skips_empty: bool

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> TokenGrid:
        return cls(**{**described, "rates": tuple(described["rates"])})

    def masks(self, n_tokens: int) -> Masks:
        """The masks that all rows of this length share."""
        return self._for_tokens(n_tokens)._masks(n_tokens)

    def _for_tokens(self, n_tokens: int) -> TokenGrid:
        """The grid for rows of so many tokens: long ones have fewer views."""
        if self.fewer_views_beyond is None or n_tokens <= self.fewer_views_beyond:
            return self
        n_all = len(self.rates) * self.views_per_level
        n_views = max(min(_FEWEST_VIEWS, n_all), math.ceil(n_all * self.fewer_views_beyond / n_tokens))
        n_levels = min(len(self.rates), n_views)
        rates = tuple(self.rates[(2 * n + 1) * len(self.rates) // (2 * n_levels)] for n in range(n_levels))
        return replace(self, rates=rates, views_per_level=round(n_views / n_levels))

    def _masks(self, n_tokens: int) -> Masks:
        rate_L = np.array(self.rates, dtype=np.float32)
        n_exact = 2**n_tokens * (len(rate_L) if self.per_level else 1) if n_tokens <= _EXACT_LIMIT else None
        if self.design == "exact" or (n_exact is not None and n_exact <= len(rate_L) * self.views_per_level):
            hidden_KF, rate_K, weight_K = self._exact(n_tokens, rate_L.astype(np.float64))
        else:
            hidden_KF, rate_K = self._balanced(n_tokens, rate_L), np.repeat(rate_L, self.views_per_level)
            weight_K = np.full(len(rate_K), 1 / len(rate_K))
        if self.skips_empty:
            weight_K = weight_K * hidden_KF.any(axis=1)
            weight_K = weight_K / max(weight_K.sum(), 1e-30)
        return Masks(hidden_KF, rate_K.astype(np.float32), weight_K)

    def _exact(self, n: int, rate_L: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All 2^n masks, each weighted by how likely the levels are to draw it."""
        hidden_MF = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(bool)
        n_hidden = hidden_MF.sum(axis=1)
        weight_LM = rate_L[:, None] ** n_hidden * (1 - rate_L[:, None]) ** (n - n_hidden) / len(rate_L)
        if self.per_level:
            return np.tile(hidden_MF, (len(rate_L), 1)), np.repeat(rate_L, len(hidden_MF)), weight_LM.ravel()
        return hidden_MF, n_hidden / n, weight_LM.sum(axis=0)

    def _balanced(self, n: int, rate_L: np.ndarray) -> np.ndarray:
        """One Latin hypercube per level, (K, F): each token's numbers fall once into each of the level's strata."""
        levels = np.arange(len(rate_L), dtype=np.uint64)[:, None, None]
        views = np.arange(self.views_per_level, dtype=np.uint64)[:, None]
        seed = np.array([self.seed]).astype(np.int64).view(np.uint64)
        key_LKF = _mix(_mix(_mix(levels + _mix(seed)) + views) + np.arange(n, dtype=np.uint64))
        stratum = key_LKF.view(np.int64).argsort(axis=1).argsort(axis=1).astype(np.float32)
        number = (stratum + _uniform(key_LKF + np.uint64(1))) / np.float32(self.views_per_level)
        hidden: np.ndarray = (number < rate_L[:, None, None]).reshape(-1, n)
        return hidden


def _mix(x: np.ndarray) -> np.ndarray:
    """A well-scrambled 64-bit number for each one given (the finaliser of splitmix64; products wrap around)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def _uniform(key: np.ndarray) -> np.ndarray:
    """A number in [0, 1) for each key."""
    return np.asarray((_mix(key) >> np.uint64(40)).astype(np.float32) / np.float32(2**24))
