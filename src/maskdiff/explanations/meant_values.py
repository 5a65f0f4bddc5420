"""What a mistyped cell was meant to hold: of the values it looks like, the likeliest given the rest of its row.

A slip of the keyboard nearly always leaves a text that is like what was meant, and hardly ever one that is like another
value. C cells, M values that one of them looks like.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import FloatArray, IntArray

# How likely a text is to look like a known value by chance, beside being a slip.
_BY_CHANCE = 0.01


@dataclass(frozen=True, eq=False)
class MeantValues:
    """The values that cells look like: `cell` (M,) is the place of the cell, `code` (M,) the code of the value."""

    cell: IntArray
    code: NDArray[np.int64]

    @classmethod
    def of(cls, meant: list[tuple[int, ...]]) -> MeantValues:
        """From the codes that each cell may stand for.

        >>> MeantValues.of([(), (4, 7)]).cell
        array([1, 1])
        """
        cell = np.repeat(np.arange(len(meant)), [len(codes) for codes in meant])
        return cls(cell, np.array([code for codes in meant for code in codes], dtype=np.int64))

    def chosen(
        self, expected: NDArray[np.int64], probability: FloatArray, likely: FloatArray
    ) -> tuple[NDArray[np.int64], FloatArray]:
        """The code to expect in each cell and its probability, each (C,), given those without a look at its text.

        `likely` (M,) is how likely each value is given the rest of the row. A value that is likely enough is taken; its
        probability is that among all the cell looks like, and that the likeness is no chance.

        >>> meant = MeantValues.of([(4, 7), (5,)])
        >>> code, probability = meant.chosen(np.array([1, 2]), np.array([0.9, 0.9]), np.array([0.05, 0.01, 0.001]))
        >>> code, probability.round(2)
        (array([4, 2]), array([0.71, 0.9 ]))
        """
        expected, probability = expected.copy(), probability.copy()
        total = np.bincount(self.cell, weights=likely, minlength=len(expected))
        order = np.lexsort((likely, self.cell))
        best = order[np.flatnonzero(np.diff(self.cell[order], append=-1))]  # the last of each cell
        best = best[likely[best] > _BY_CHANCE * probability[self.cell[best]]]
        cell = self.cell[best]
        expected[cell], probability[cell] = self.code[best], likely[best] / (total[cell] + _BY_CHANCE)
        return expected, probability
