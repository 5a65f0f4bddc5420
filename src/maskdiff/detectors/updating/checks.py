"""Which new rows a model can learn on from."""

from __future__ import annotations

from typing import Any

import numpy as np

from maskdiff.codes import BoolArray, Codes
from maskdiff.codes.windows import Windows
from maskdiff.detectors.fingerprint import NOT_KNOWN, NOT_SEEN, Fingerprint
from maskdiff.errors import ColumnTypeError, EmptyTableError, InputError

# From so many rows on that equal single rows of the fit, where that is more than chance gives in this interval.
_FEWEST_SEEN, _INTERVAL = 3, 0.999
# Where more rows than this share cannot be read, a column has another type than it had.
_MOST_UNREADABLE = 0.5


def readable_rows(encoder: Any, rows: Any) -> tuple[Any, Codes]:
    """The rows all of whose cells can be read, with their codes; of tokens those that hold any."""
    codes = encoder.encode(rows)
    if isinstance(codes, Windows):
        chosen = codes.row_lengths > 0
        if not chosen.any():
            raise EmptyTableError(f"none of the {rows.n_rows:,} rows holds a single token: there is nothing to learn.")
    else:
        chosen = _readable(encoder, rows, codes)
    return (rows, codes) if chosen.all() else (rows.take(chosen), encoder.encode(rows.take(chosen)))


def _readable(encoder: Any, rows: Any, codes: Codes) -> BoolArray:
    """Which rows of a table have no cell of another type than its column, shape (N,)."""
    unreadable = ~codes.known
    unreadable[unreadable] = [value == () for value in encoder.unseen_values(rows, codes)]
    readable = np.asarray(~unreadable.any(axis=1))
    if (~readable).mean() > _MOST_UNREADABLE:
        worst = int(unreadable.sum(axis=0).argmax())
        field, row = codes.schema.fields[worst], int(unreadable[:, worst].argmax())
        found = encoder.display(rows, [row], [worst])[0]
        raise ColumnTypeError(
            f"column {field.name!r} was learned as {field.type}, but {int(unreadable[:, worst].sum()):,} of "
            f"{len(codes):,} rows hold something else there, row {row} {found!r}. Hand over rows of the same types, "
            f"or fit again with columns={{{field.name!r}: ...}}."
        )
    return readable


def check_new(learned: Fingerprint, codes: Codes) -> None:
    """Refuse rows that were learned from before: they would count twice, and calibrate what learned from them."""
    times = learned.times(codes)
    n, seen = int((times != NOT_KNOWN).sum()), int((times > NOT_SEEN).sum())
    once = int(learned.matched_once(codes).sum())
    if once >= _FEWEST_SEEN and learned.is_overlap(n, seen, once, _INTERVAL):
        raise InputError(
            f"{seen:,} of {n:,} rows were learned from before and would count twice, which makes all rows seem less "
            "odd than they are. Hand over the new rows alone.",
            setting="new rows",
        )
