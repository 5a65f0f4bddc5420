"""Which comes first in 03/04/2024, the day or the month: decided over the whole column, then the whole table."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from maskdiff.encoders.table.column_types.base import ColumnType
from maskdiff.encoders.table.column_types.dates import DAY_FIRST_DATE, MONTH_FIRST_DATE
from maskdiff.errors import DateOrderWarning

ORDERS: dict[ColumnType, str] = {DAY_FIRST_DATE: "day/month/year", MONTH_FIRST_DATE: "month/day/year"}


def without_other_order(possible: tuple[ColumnType, ...], day_first: bool | None) -> tuple[ColumnType, ...]:
    """These types, less the order of day and month that the user ruled out."""
    ruled_out = {None: None, True: MONTH_FIRST_DATE, False: DAY_FIRST_DATE}[day_first]
    return tuple(one for one in possible if one is not ruled_out)


def choose_orders(possible: Mapping[str, tuple[ColumnType, ...]]) -> dict[str, ColumnType]:
    """For every column the most special type it can have; where both orders fit, that of the table's other dates.

    Where these do not say either, the day comes first. `DateOrderWarning` names the columns.
    """
    chosen = {name: types[0] for name, types in possible.items()}
    both = [name for name, one in chosen.items() if one in ORDERS and set(ORDERS) <= set(possible[name])]
    certain = {one for name, one in chosen.items() if one in ORDERS and name not in both}
    taken = MONTH_FIRST_DATE if certain == {MONTH_FIRST_DATE} else DAY_FIRST_DATE
    if both:
        text = (
            f"the dates of {', '.join(map(repr, both))} fit both {' and '.join(ORDERS.values())}; they are read as "
            f"{ORDERS[taken]}. Say which it is: TableEncoder(day_first=True), or False."
        )
        warnings.warn(DateOrderWarning(text, setting="day_first"), stacklevel=2)
    return chosen | dict.fromkeys(both, taken)
