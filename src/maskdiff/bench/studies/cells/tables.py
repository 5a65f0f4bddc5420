"""The tables errors are planted in: normal rows of known sets, or of a CSV file. And files that hold errors already."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from maskdiff.bench.runs.sets import N_CLAIMS, load_set, table_names
from maskdiff.codes import BoolArray
from maskdiff.datasets import make_claims
from maskdiff.errors import SettingError

if TYPE_CHECKING:
    import pandas as pd

SETS = ("fraud_oracle", "claims", "bank", "census", "solar")
# Of large tables a sample is enough; another for every seed.
SAMPLES = {"census": 20_000}
UNSEEN_SHARE = 0.2
# Of the rows whose wrong cells are known.
MOST_KNOWN = 4_000


def names_of_tables(wanted: Iterable[str]) -> list[str]:
    """The tables meant, in order, each once: sets by name, "all" for those above, or paths of CSV files."""
    named = [name for each in wanted for name in (SETS if each == "all" else [each])]
    return list(dict.fromkeys(name if _is_file(name) else _known(name) for name in named))


def _is_file(name: str) -> bool:
    return name.endswith(".csv") and Path(name).is_file()


def _known(name: str) -> str:
    if name.endswith(".csv"):
        raise SettingError(f"there is no file {name!r}; name a CSV file or a data set.")
    return table_names([name])[0]


def normal_rows(name: str, data: str | None, seed: int, most: int | None = None) -> pd.DataFrame:
    """The normal rows of a table, shuffled, at most so many; all rows of a CSV file are taken for normal."""
    rows = _rows(name, data)
    most = min(most or len(rows), SAMPLES.get(name, len(rows)))
    chosen = np.random.default_rng(seed).permutation(len(rows))[:most]
    return plain(rows.iloc[chosen].reset_index(drop=True))


def learned_and_unseen(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Four fifths of shuffled rows to learn from, and the others."""
    n_learned = len(rows) - round(UNSEEN_SHARE * len(rows))
    return rows.iloc[:n_learned], rows.iloc[n_learned:].reset_index(drop=True)


def known_errors(name: str, seed: int) -> tuple[pd.DataFrame, BoolArray] | None:
    """Anomalies of the table itself, and their wrong cells, (N, C); None where these are not known."""
    if name != "claims":
        return None
    X, y, cells = make_claims(N_CLAIMS, seed=0, return_cells=True)
    chosen = np.random.default_rng(seed).permutation(np.flatnonzero(y))[:MOST_KNOWN]
    return plain(X.iloc[chosen].reset_index(drop=True)), cells.to_numpy()[chosen]


def mended_file(dirty: str, clean: str) -> tuple[pd.DataFrame, pd.DataFrame, BoolArray]:
    """A CSV file with errors, the same without them, and which cells differ, (N, C).

    Columns belong together by their place; those of the clean file are read as those of the other.
    """
    import pandas as pd

    X, truth = _read(dirty), pd.read_csv(clean, dtype=str, keep_default_na=False)
    if X.shape != truth.shape:
        sizes = [f"{len(table):,} rows and {table.shape[1]} columns" for table in (X, truth)]
        raise SettingError(f"{dirty} has {sizes[0]}, {clean} has {sizes[1]}: name the same table without errors.")
    cells = pd.read_csv(dirty, dtype=str, keep_default_na=False)
    return plain(X), truth.set_axis(X.columns, axis=1), cells.to_numpy() != truth.to_numpy()


@lru_cache(maxsize=1)  # runs on one table follow each other
def _rows(name: str, data: str | None) -> pd.DataFrame:
    if _is_file(name):
        return _read(name)
    X, y = load_set(name, data)
    return X.iloc[np.flatnonzero(y == 0)]


def _read(path: str) -> pd.DataFrame:
    import pandas as pd

    # Only an empty cell is missing: "None" and "NA" may be values.
    return pd.read_csv(path, keep_default_na=False, na_values=[""], low_memory=False)


def plain(X: pd.DataFrame) -> pd.DataFrame:
    """Numbers as numbers, everything else as texts that can be changed; a missing cell is None among texts.

    >>> import pandas as pd
    >>> plain(pd.DataFrame({"pet": pd.Categorical(["cat"]), "old": [True]})).iloc[0].tolist()
    ['cat', 'True']
    """
    import pandas as pd

    def cells(column: pd.Series[Any]) -> object:
        if is_numeric_dtype(column) and not is_bool_dtype(column):
            return column.to_numpy(np.float64) if column.isna().any() else column.to_numpy()
        texts = column.astype(object)
        return np.array([None if gone else str(v) for v, gone in zip(texts, texts.isna(), strict=True)], dtype=object)

    columns = {j: cells(X.iloc[:, j]) for j in range(X.shape[1])}
    return pd.DataFrame(columns, index=X.index).set_axis(X.columns, axis=1)
