"""What no code stands for in rows of a table that are read in parts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import Codes
from maskdiff.encoders.base import UnseenValue


class UnseenCells:
    """Collects the values of unseen cells; rows have places, in whose order they are wanted."""

    def __init__(self) -> None:
        self._places: list[NDArray[np.int64]] = [np.empty((2, 0), np.int64)]
        self._values: list[UnseenValue] = []

    def add(self, encoder: Any, rows: Any, codes: Codes, places: NDArray[np.int64]) -> None:
        """The cells of these rows, which have these codes."""
        row, field = np.nonzero(~codes.known)
        if len(row):
            self._places.append(np.stack([places[row], field]))
            self._values += encoder.unseen_values(rows, codes)

    def in_order(self) -> list[UnseenValue]:
        """The values of one row after the other."""
        row, field = np.concatenate(self._places, axis=1)
        return [self._values[at] for at in np.lexsort((field, row)).tolist()]
