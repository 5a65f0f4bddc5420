"""Vehicle insurance claims with invented cars: a table of mixed types whose anomalies, and their cells, are known.

The cost of a repair follows from the car, the issue and the price. Two things go wrong: amounts are inflated (every
tenth claim), and values that were lost are replaced by impossible ones (`claims.toml`). The rules are those of the
Vehicle Claims data of the UADAD benchmark; the cars are our own.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from maskdiff.codes import BoolArray
from maskdiff.datasets.cars import Columns, columns_of, draw_cars
from maskdiff.errors import SettingError

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    *("Maker", "Genmodel", "Color", "Reg_year", "Bodytype", "Runned_Miles", "Engin_size", "Gearbox", "Fuel_type"),
    *("Price", "Seat_num", "Door_num", "issue", "issue_id", "repair_complexity", "repair_cost", "repair_hours"),
)


@overload
def make_claims(
    n: int = ..., seed: int = ..., *, return_cells: Literal[False] = ...
) -> tuple[pd.DataFrame, NDArray[np.int8]]: ...
@overload
def make_claims(
    n: int = ..., seed: int = ..., *, return_cells: Literal[True]
) -> tuple[pd.DataFrame, NDArray[np.int8], pd.DataFrame]: ...
def make_claims(n: int = 10_000, seed: int = 0, *, return_cells: bool = False) -> tuple[Any, ...]:
    """`n` claims and their labels, 1 = anomaly (about 21%); on request also which cells were tampered with.

    >>> X, y, cells = make_claims(100, return_cells=True)
    >>> X.shape, cells.shape
    ((100, 17), (100, 17))
    >>> bool((cells.any(axis=1) == (y == 1)).all())
    True
    """
    import pandas as pd

    if n < 0:
        raise SettingError(f"make_claims wants n >= 0 rows, got {n}")
    rng = np.random.default_rng(seed)
    columns = _normal_claims(n, rng)
    tampered = {name: np.zeros(n, dtype=bool) for name in COLUMNS}
    _inflate(columns, tampered, rng)
    _lose_values(columns, tampered, rng)
    X = pd.DataFrame({name: columns[name] for name in COLUMNS})
    cells = pd.DataFrame(tampered)
    y = cells.any(axis=1).to_numpy(dtype=np.int8)
    return (X, y, cells) if return_cells else (X, y)


def _normal_claims(n: int, rng: Generator) -> Columns:
    car = draw_cars(n, rng)
    drawn = _draw_repairs(n, rng)
    repair = {name: values[drawn] for name, values in _repairs().items()}
    hours = car["repair_complexity"] * repair["h"]
    return car | repair | {"repair_hours": hours, "repair_cost": 20 * hours + car["Price"] * repair["p"]}


def _draw_repairs(n: int, rng: Generator) -> NDArray[np.int64]:
    """Every issue is equally common, and within an issue every repair."""
    counts = np.array([len(repairs) for repairs in _catalog()["issues"].values()])
    first = np.cumsum(counts) - counts
    issue = rng.integers(len(counts), size=n)
    drawn: NDArray[np.int64] = first[issue] + rng.integers(counts[issue])
    return drawn


def _inflate(columns: Columns, tampered: dict[str, BoolArray], rng: Generator) -> None:
    """Every 10th claim costs 3 to 6 times what it should; every 20th has 3 to 4 times its normal cost as its hours."""
    cost = columns["repair_cost"]
    tenth, twentieth = slice(9, None, 10), slice(19, None, 20)
    columns["repair_hours"][twentieth] = cost[twentieth] * rng.uniform(3, 4, len(cost[twentieth]))
    cost[tenth] *= rng.uniform(3, 6, len(cost[tenth]))
    tampered["repair_cost"][tenth] = True
    tampered["repair_hours"][twentieth] = True


def _lose_values(columns: Columns, tampered: dict[str, BoolArray], rng: Generator) -> None:
    """Some values are lost, whatever the row, and filled with what no normal row holds."""
    for lost in _catalog()["lost"]:
        rows = np.flatnonzero(rng.random(len(columns["Price"])) < lost["share"])
        for name, fill in lost["fill"].items():
            columns[name][rows] = _filling(fill, len(rows), rng)
            tampered[name][rows] = True


def _filling(fill: Any, size: int, rng: Generator) -> Any:
    if not isinstance(fill, list):
        return fill
    least, most = fill
    return rng.integers(least, most, size, endpoint=True)


@cache
def _catalog() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("claims.toml").read_text(encoding="utf-8"))


@cache
def _repairs() -> Columns:
    """Every repair there is, one entry each: issue, issue_id, h and p."""
    return columns_of(
        [
            {"issue": issue, "issue_id": i if len(repairs) > 1 else 0, "h": float(h), "p": p}
            for issue, repairs in _catalog()["issues"].items()
            for i, (h, p) in enumerate(repairs, start=1)
        ]
    )
