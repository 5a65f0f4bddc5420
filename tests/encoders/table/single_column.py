"""Encoders of one column, "a"."""

from __future__ import annotations

from typing import Any

import pandas as pd

from maskdiff.codes import Field
from maskdiff.encoders.table.encoder import TableEncoder


def fitted(values: Any, **settings: Any) -> TableEncoder:
    return TableEncoder(**settings).fit(pd.DataFrame({"a": values}))


def field_of(values: Any, **settings: Any) -> Field:
    return fitted(values, **settings).schema_.fields[0]


def codes_of(encoder: TableEncoder, values: list[Any]) -> list[int]:
    """The codes of these cells, each in a table of Python objects."""
    return encoder.encode(pd.DataFrame({"a": pd.Series(values, dtype=object)})).values[:, 0].tolist()
