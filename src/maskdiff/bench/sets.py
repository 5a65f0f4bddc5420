"""The data sets to measure on: the published ones, from the user's folder, and generated ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from maskdiff import datasets
from maskdiff.errors import SettingError

if TYPE_CHECKING:
    import pandas as pd

LabelledTable = tuple["pd.DataFrame", NDArray[np.int8]]

GENERATED: dict[str, Callable[[], LabelledTable]] = {
    # Stands in for the paper's Vehicle Claims, whose file few have.
    "claims": lambda: datasets.make_claims(n=50_000, seed=0),
}


def set_names(wanted: Iterable[str]) -> list[str]:
    """The data sets meant, in order, each once; "all" stands for every one there is.

    >>> set_names(["u2r", "claims", "u2r"])
    ['u2r', 'claims']
    """
    known = [*datasets.names(), *GENERATED]
    named = [name for word in wanted for name in (known if word == "all" else [word])]
    unknown = [name for name in named if name not in known]
    if unknown:
        raise SettingError(f"there is no data set {unknown[0]!r}; known are all, {', '.join(known)}.")
    return list(dict.fromkeys(named))


@lru_cache(maxsize=1)  # runs on one set follow each other
def load_set(name: str, data: str | None) -> LabelledTable:
    """Rows and labels of a set, 1 = anomaly; `data` is the folder the published files lie in."""
    return GENERATED[name]() if name in GENERATED else datasets.load(name, data=data)
