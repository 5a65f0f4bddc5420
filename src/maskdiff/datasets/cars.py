"""Invented cars on the road: what was built (`cars.toml`), and what age and use made of it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from maskdiff.codes import FloatArray

Columns = dict[str, NDArray[Any]]


def draw_cars(n: int, rng: Generator) -> Columns:
    """`n` cars as columns: make and build, colour, year, miles and price all depend on one another."""
    drawn = _draw_builds(n, rng)
    car = {name: values[drawn] for name, values in _builds().items()}
    year = _draw_years(car["first_year"], car["last_year"], rng)
    age = _catalog()["this_year"] - year + rng.random(n)
    # Cars are driven less as they grow old.
    usual_miles = car["yearly_miles"] * age**0.85
    miles = np.maximum(1, usual_miles * rng.lognormal(0, 0.25, n)).astype(np.int64)
    return car | {
        "Color": _draw_colours(car["repair_complexity"], rng),
        "Reg_year": year,
        "Runned_Miles": miles,
        "Price": _prices(car["price_new"], age, miles - usual_miles, rng),
    }


def columns_of(records: list[dict[str, Any]]) -> Columns:
    """Records turned into columns; text as objects, so that a longer word fits in later.

    >>> columns_of([{"fuel": "Petrol", "doors": 5}, {"fuel": "Diesel", "doors": 3}])
    {'fuel': array(['Petrol', 'Diesel'], dtype=object), 'doors': array([5, 3])}
    """
    types = {name: object if isinstance(value, str) else None for name, value in records[0].items()}
    return {name: np.array([record[name] for record in records], dtype=dtype) for name, dtype in types.items()}


def _draw_builds(n: int, rng: Generator) -> NDArray[np.int64]:
    share = _builds()["share"]
    return rng.choice(len(share), size=n, p=share / share.sum())


def _draw_years(first: NDArray[np.int64], last: NDArray[np.int64], rng: Generator) -> NDArray[np.int64]:
    """Years of registration; recent ones are more common."""
    back = (last - first + 1) * rng.random(len(first)) ** 1.6
    return last - back.astype(np.int64)


def _draw_colours(complexity: NDArray[np.int64], rng: Generator) -> NDArray[Any]:
    colours = np.empty(len(complexity), dtype=object)
    for level, palette in _catalog()["colours"].items():
        rows = np.flatnonzero(complexity == int(level))
        shares = np.array(list(palette.values())) / sum(palette.values())
        colours[rows] = rng.choice(np.array(list(palette), dtype=object), size=len(rows), p=shares)
    return colours


def _prices(new: FloatArray, age: FloatArray, extra_miles: FloatArray, rng: Generator) -> NDArray[np.int64]:
    """What a car is still worth: 15% less each year, less yet if driven more than usual, in steps of 5."""
    worth = new * 0.85**age * np.exp(-extra_miles / 250_000) * rng.lognormal(0, 0.06, len(new))
    return 5 * np.maximum(60, np.rint(worth / 5)).astype(np.int64)


@cache
def _catalog() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("cars.toml").read_text(encoding="utf-8"))


@cache
def _builds() -> Columns:
    """Every way every model is built, one entry each; `share` says how common it is."""
    return columns_of(
        [build for maker in _catalog()["makers"] for model in maker["models"] for build in _builds_of(maker, model)]
    )


def _builds_of(maker: dict[str, Any], model: list[Any]) -> Iterator[dict[str, Any]]:
    name, common, price, (first_year, last_year), bodies, engines, gearboxes = model
    for body_rank, body in enumerate(bodies):
        space = _catalog()["bodies"][body]
        choices = (enumerate(options) for options in (engines, gearboxes, space["seats"], space["doors"]))
        for (i, engine), (j, gearbox), (k, seats), (m, doors) in product(*choices):
            litres, fuel = engine.split()
            yield {
                "Maker": maker["name"],
                "Genmodel": name,
                "Bodytype": body,
                "Engin_size": litres,
                "Fuel_type": fuel,
                "Gearbox": gearbox,
                "Seat_num": seats,
                "Door_num": doors,
                "repair_complexity": maker["complexity"],
                "first_year": first_year,
                "last_year": last_year,
                "yearly_miles": _catalog()["yearly_miles"][fuel],
                # Larger engines and gearboxes that shift by themselves cost more.
                "price_new": price * (0.9 + 0.05 * float(litres[:-1])) * (1.0 if gearbox == "Manual" else 1.06),
                "share": common * 0.5 ** (body_rank + i + j + k + m),
            }
