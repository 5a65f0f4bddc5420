"""Tables of any size to measure speed on: columns hang together through a group that no column names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

# Every fourth column is of numbers; the others have this many categories, in turn.
_CATEGORIES = (3, 5, 8, 12, 20, 40)
_GROUPS = 20


def make_table(rows: int, columns: int, seed: int = 0) -> pd.DataFrame:
    """So many rows and columns, a quarter of them numbers.

    >>> make_table(5, 4).dtypes.astype(str).unique().tolist()
    ['category', 'float64']
    """
    import pandas as pd

    rng = np.random.default_rng(seed)
    group = rng.integers(0, _GROUPS, rows)
    made: dict[str, Any] = {}
    for at in range(columns):
        if at % 4 == 3:
            made[f"n{at}"] = (group + rng.lognormal(0, 0.5, rows) * (1 + at % 3)).round(3)
            continue
        size = _CATEGORIES[at % len(_CATEGORIES)]
        codes = (group * (at % 7 + 3) + rng.geometric(0.5, rows)) % size
        made[f"c{at}"] = pd.Categorical.from_codes(codes, pd.Index([f"v{code}" for code in range(size)]))
    return pd.DataFrame(made)
