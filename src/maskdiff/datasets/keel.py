"""Tables of the KEEL repository, as labelled rows (`keel.toml`): the user brings the files, with or without header.

In a table without a class "positive" the smallest class is the anomaly. Of the anomalies at most a tenth of all rows
are kept, of the normal rows at most 20,000.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.errors import DataNotFoundError

if TYPE_CHECKING:
    import pandas as pd

MOST_NORMAL = 20_000
_MISSING = {"<null>": None, "?": None}


@cache
def keel_names() -> dict[str, list[str]]:
    """The tables' names: "categories", a few numbers among them, "numbers", and "held_out", for measuring alone."""
    return {key: list(_catalog()[key]) for key in ("categories", "numbers", "held_out")}


def load_keel(name: str, data: str | Path) -> tuple[pd.DataFrame, NDArray[np.int8]]:
    """Rows and labels of NAME.dat in the folder `data`, 1 = anomaly; columns are called c0, c1, ..."""
    path = Path(data) / f"{name}.dat"
    if not path.is_file():
        raise DataNotFoundError(f"there is no file {str(path)!r}; get {name} from the KEEL repository.")
    table, label = _cells(path)
    label_of_anomaly = _catalog()["anomaly"].get(name) or _smallest(label)
    is_anomaly = label.eq(label_of_anomaly).to_numpy()
    kept = _kept(is_anomaly)
    return table.iloc[kept].reset_index(drop=True), is_anomaly[kept].astype(np.int8)


def _cells(path: Path) -> tuple[pd.DataFrame, pd.Series[str]]:
    import pandas as pd

    lines = (line.strip() for line in path.read_text(errors="replace").splitlines())
    cells = [[cell.strip().strip("'") for cell in line.split(",")] for line in lines if line and line[0] != "@"]
    table = pd.DataFrame(cells).replace(_MISSING).rename(columns=lambda n: f"c{n}")
    label = table.pop(table.columns[-1])
    for name in table:
        numbers = pd.to_numeric(table[name], errors="coerce")
        are_numbers = numbers.isna().sum() == table[name].isna().sum()
        table[name] = numbers if are_numbers else table[name].astype("category")
    return table, label


def _smallest(label: pd.Series[str]) -> str:
    return "positive" if "positive" in set(label) else str(label.value_counts().index[-1])


def _kept(is_anomaly: NDArray[np.bool_]) -> NDArray[np.int64]:
    rng, normal, anomalies = np.random.RandomState(0), np.flatnonzero(~is_anomaly), np.flatnonzero(is_anomaly)
    normal = _some(normal, MOST_NORMAL, rng)
    return np.sort(np.concatenate([normal, _some(anomalies, len(normal) // 9, rng)]))


def _some(rows: NDArray[np.int64], most: int, rng: Any) -> NDArray[np.int64]:
    return np.asarray(rng.choice(rows, most, replace=False)) if len(rows) > most else rows


@cache
def _catalog() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("keel.toml").read_text(encoding="utf-8"))
