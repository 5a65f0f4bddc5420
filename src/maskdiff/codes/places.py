"""How far apart the codes of a field are, in units of what two normal rows differ by there (root mean square).

Categories differ or do not. Bins of numbers have places: half by the steps between bins, which tell common numbers
apart, half by the numbers in their middle, which say how far out an uncommon one is. F fields, C places at most.
"""

from __future__ import annotations

import numpy as np

from maskdiff.codes.schema import Field, FloatArray, Schema

# What has no place differs from every number as much as the two ends of evenly spread numbers do.
_ENDS_APART = 6**0.5


def field_places(field: Field) -> tuple[FloatArray, float]:
    """The places of the codes in order, shape (n_ordered,), and how far apart codes are that have none.

    >>> pet, age = Field("pet", "category", ("cat", "dog"), (2, 2)), Field("age", "number", ("1", "2"), (2, 2), 0, True)
    >>> places, apart = field_places(pet)
    >>> len(places), round(apart**2, 3)
    (0, 2.0)
    >>> [round(place, 2) for place in field_places(age)[0].tolist()]
    [0.0, 1.41]
    """
    total, n = sum(field.counts), field.n_ordered
    share = np.array(field.counts) / total
    whole = float(share[:n].sum())
    places = _along(field, share[:n] / whole) if n else np.empty(0)
    within = np.sqrt(2) * _deviation(places, share[:n] / whole) if n else 0.0
    apart = _ENDS_APART * within or 1.0
    square = (whole * within) ** 2 + apart**2 * (1 - whole**2 - float((share[n:] ** 2).sum()))
    unit = square**0.5 if within else max(square, 1 / total) ** 0.5  # where none differ, as if one row did
    return places / unit, float(apart / unit)


def schema_places(schema: Schema) -> tuple[FloatArray, FloatArray]:
    """The places of all fields, shape (F, C + 1), NaN for codes without one, as in the last column, and `apart` (F,).

    So `places[field, min(code, C)]` is the place of every code.

    >>> fields = Field("pet", "category", ("cat", "dog"), (2, 2)), Field("age", "number", ("1", "2"), (2, 2), 0, True)
    >>> places, apart = schema_places(Schema(fields))
    >>> places.round(2)
    array([[ nan,  nan,  nan],
           [0.  , 1.41,  nan]])
    """
    found = [field_places(field) for field in schema]
    places = np.full((len(found), max((len(one) for one, _ in found), default=0) + 1), np.nan)
    for at, (one, _) in enumerate(found):
        places[at, : len(one)] = one
    return places, np.array([apart for _, apart in found])


def _along(field: Field, share: FloatArray) -> FloatArray:
    steps, numbers = np.arange(len(share), dtype=np.float64), np.array(field.middles[: len(share)])
    if len(numbers) < len(steps):
        return steps
    numbers = numbers / max(np.abs(numbers).max(), np.finfo(np.float64).tiny)  # or squares would overflow
    spread = _deviation(numbers, share)
    return steps if spread == 0 else (steps + (numbers - numbers[0]) * (_deviation(steps, share) / spread)) / 2


def _deviation(values: FloatArray, share: FloatArray) -> float:
    return float(np.sqrt(share @ (values - share @ values) ** 2))
