"""Fields that are computed from the dates of a row. N rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

_HOUR = 3_600_000_000
_DAY = 24 * _HOUR
# 1970-01-01 was a Thursday.
_THURSDAY = 3
_RULES: dict[str, Callable[..., np.ndarray]] = {
    "weekday": lambda at: (np.floor(at / _DAY) + _THURSDAY) % 7,
    "hour": lambda at: np.floor(at / _HOUR) % 24,
    "difference": lambda first, second: first - second,
}


class DerivedColumn:
    """How one such field is computed, and coded by the column that it is like."""

    def __init__(self, described: Mapping[str, Any], column: Any) -> None:
        self.sources, self.size = described["sources"], described["size"]
        self.compute, self.usual, self.column = _RULES[described["rule"]], described["usual"], column

    def encode(self, moments: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Code and excess of each row, each (N,), from the ticks of its dates."""
        computed = self.compute(*(moments[name] for name in self.sources))
        missing = np.isnan(computed)
        whole = np.where(missing, 0, computed).clip(-(2.0**62), 2.0**62).astype(np.int64)
        codes, excess = self.column.encode(whole.tolist())
        code = self.size - 1 if self.column.has_missing else self.usual
        return np.where(missing, code, codes), np.where(missing, 0.0, excess)
