"""Raw tables for detectors that want numbers: the codes of the table encoder, plain or one-hot.

The encoder learns from the rows given to `fit` alone, the same way for every baseline: quantile bins for numbers, and a
bucket of its own for values never seen. N rows, F fields, W one-hot columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import Codes, FloatArray
from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.errors import SettingError

Matrix = NDArray[Any]


class MatrixDetector(Protocol):
    """A detector of odd rows of a matrix."""

    def fit(self, X: Matrix) -> Any:
        """Learn from normal rows."""

    def anomaly_score(self, X: Matrix) -> FloatArray:
        """How odd each row is, shape (N,); higher = more anomalous."""


def ordinal(values: Matrix, sizes: NDArray[np.int64]) -> Matrix:
    """The codes as they are, shape (N, F); an unseen value is one more than the largest code of its field."""
    return values


def one_hot(values: Matrix, sizes: NDArray[np.int64]) -> Matrix:
    """One column per code and one for unseen values, field after field, shape (N, W).

    >>> one_hot(np.array([[1, 0], [2, 1]]), np.array([2, 1]))
    array([[0., 1., 0., 1., 0.],
           [0., 0., 1., 0., 1.]], dtype=float32)
    """
    widths = sizes + 1
    columns = np.zeros((len(values), int(widths.sum())), dtype=np.float32)
    np.put_along_axis(columns, values + np.cumsum(widths) - widths, 1.0, axis=1)
    return columns


REPRESENTATIONS: dict[str, Callable[[Matrix, NDArray[np.int64]], Matrix]] = {"ordinal": ordinal, "one-hot": one_hot}


def first_seen(codes: Codes) -> list[NDArray[np.int64]]:
    """The number each code of each field gets if the codes are counted as the rows first show them.

    Bins keep their order, and unseen stays last.
    """
    numbers = []
    for field, column in zip(codes.schema, codes.values.T, strict=True):
        order = np.arange(field.size + 1)
        if not field.ordered:
            order[:-1] = np.unique(column, return_index=True)[1].argsort()
        numbers.append(order.argsort())
    return numbers


class Encoded:
    """A matrix detector that takes tables.

    Categories are numbered in the order in which the normal rows first show them. That order means nothing, and COPOD
    and ECOD take it for one that does; it is kept because the published figures came about that way.

    Each distinct row is scored once, so equal rows get equal scores; a detector that looks at the batch as a whole
    (`whole_batch`) is given all rows as they come.
    """

    def __init__(self, detector: MatrixDetector, representation: str, *, whole_batch: bool = False) -> None:
        if representation not in REPRESENTATIONS:
            known = ", ".join(REPRESENTATIONS)
            raise SettingError(f"no representation is called {representation!r}; choose one of {known}.")
        self.detector = detector
        self.representation = representation
        self.whole_batch = whole_batch

    def fit(self, X: Any) -> Self:
        """Learn from the normal rows of a table."""
        self.encoder_ = TableEncoder(tails=0).fit(X)  # the paper's quantile bins
        codes = self.encoder_.encode(X)
        self.numbers_ = first_seen(codes)
        self.detector.fit(self._represent(codes))
        return self

    def anomaly_score(self, X: Any) -> FloatArray:
        """How odd each row is, shape (N,); higher = more anomalous."""
        codes = self.encoder_.encode(X)
        if self.whole_batch:
            return self.detector.anomaly_score(self._represent(codes))
        rows, where, _ = codes.distinct()
        return self.detector.anomaly_score(self._represent(rows))[where]

    def _represent(self, codes: Codes) -> Matrix:
        columns = [numbers[column] for numbers, column in zip(self.numbers_, codes.values.T, strict=True)]
        return REPRESENTATIONS[self.representation](np.stack(columns, axis=1), codes.schema.sizes)
