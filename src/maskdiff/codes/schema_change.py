"""Where the codes of one schema are in another that knows more: codes are added and may move, none is lost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes.schema import FloatArray, IntArray, Schema


@dataclass(frozen=True, eq=False)
class SchemaChange:
    """From the fields of `before` to those of `after`, which have the same names and at least the same codes.

    `places` has for each field where its codes are now, shape (old size + 1,); the last one is that of *unseen*.

    >>> from maskdiff.codes import Field
    >>> before = Schema((Field("pet", "category", ("cat", "dog"), (3, 1)),))
    >>> after = Schema((Field("pet", "category", ("cat", "cow", "dog"), (3, 2, 1)),))
    >>> change = SchemaChange(before, after, (np.array([0, 2, 3]),))
    >>> change.moved(np.array([[1], [2]])), change.new_codes(0)
    (array([[2],
           [3]], dtype=uint8), array([1]))
    """

    before: Schema
    after: Schema
    places: tuple[NDArray[np.int64], ...]

    def moved(self, values: IntArray) -> IntArray:
        """Codes of the old schema, shape (N, F), as those of the new one."""
        moved = np.empty(values.shape, dtype=self.after.code_dtype)
        for at, places in enumerate(self.places):
            moved[:, at] = places[values[:, at]]
        return moved

    def kept_codes(self, field: int) -> NDArray[np.int64]:
        """Where the old codes of this field are now, without *unseen*, shape (old size,)."""
        return self.places[field][:-1]

    def new_codes(self, field: int) -> NDArray[np.int64]:
        """The codes of this field that are new."""
        return np.setdiff1d(np.arange(self.after.fields[field].size), self.kept_codes(field))

    def old_shares(self, field: int) -> FloatArray:
        """The share of normal rows that held each of the old codes, shape (old size,)."""
        counts = np.array(self.before.fields[field].counts, dtype=np.float64)
        shares: FloatArray = counts / counts.sum()
        return shares

    def new_log_odds(self, field: int) -> FloatArray:
        """How much more likely than all others together a row is to hold each of the new codes, in nats."""
        counts = np.array(self.after.fields[field].counts, dtype=np.float64)
        new = counts[self.new_codes(field)]
        log_odds: FloatArray = np.log(new) - np.log(counts.sum() - new)
        return log_odds
