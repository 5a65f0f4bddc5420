"""Which normal rows are learned from, which ones tune and which ones calibrate.

Conformal calibration is exact for a score that was fixed before the calibration rows were looked at. So the rows that
choose a number of neighbours, set scales, steady short texts or end a training are not the rows that calibrate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import BoolArray, Codes
from maskdiff.errors import InputError

# Rows to calibrate: a tenth, within these bounds, and never over a third.
FEWEST_TO_CALIBRATE, MOST_TO_CALIBRATE = 100, 2000
# Into so many parts small tables are cut, each judged by a model that learned from the others.
N_FOLDS = 5
# Rows to tune: a twentieth, within these bounds, and never over a sixth.
FEWEST_TO_TUNE, MOST_TO_TUNE = 50, 1000


@dataclass(frozen=True, eq=False)
class RowSplit:
    """Places of rows, each rising. With `leave_one_out` the rows that calibrate are among those to learn from."""

    train: NDArray[np.int64]
    tuning: NDArray[np.int64]
    calibration: NDArray[np.int64]
    leave_one_out: bool = False

    @property
    def order(self) -> NDArray[np.int64]:
        """Every row once: those to learn from, then those that tune, then those that calibrate alone."""
        alone = self.calibration[:0] if self.leave_one_out else self.calibration
        return np.concatenate([self.train, self.tuning, alone])

    def kept(self, odd: BoolArray) -> BoolArray:
        """All rows but those that are odd, shape (n,); whatever is odd among the rows that calibrate stays.

        >>> split = RowSplit(np.array([0, 1, 4]), np.array([2]), np.array([3]))
        >>> split.kept(np.array([True, False, False, True, False])).tolist()
        [False, True, True, True, True]
        """
        kept = ~odd
        kept[self.calibration] = True
        return kept

    def among(self, kept: BoolArray) -> RowSplit:
        """The same split where only these of all rows are there, (n,).

        >>> RowSplit(np.array([0, 1, 4]), np.array([2]), np.array([3])).among(np.arange(5) > 0).train.tolist()
        [0, 3]
        """
        place = np.cumsum(kept) - 1
        train, tuning, calibration = (place[rows[kept[rows]]] for rows in (self.train, self.tuning, self.calibration))
        return RowSplit(train, tuning, calibration, self.leave_one_out)

    def cut(self, codes: Codes) -> tuple[Codes, Codes, Codes]:
        """Rows in this order, as those to learn from, those that tune and those that calibrate."""
        n, m = len(self.train), len(self.train) + len(self.tuning)
        behind = np.searchsorted(self.train, self.calibration) if self.leave_one_out else slice(m, None)
        return codes.take(slice(0, n)), codes.take(slice(n, m)), codes.take(behind)


def split_rows(n: int, seed: int, *, tunes: bool, leave_one_out: bool = False) -> RowSplit:
    """A random split of n rows; `tunes`: something is decided by rows that were not learned from.

    >>> split = split_rows(1000, 0, tunes=True)
    >>> len(split.train), len(split.tuning), len(split.calibration)
    (850, 50, 100)
    """
    fewest = 3 if tunes else 2
    if 0 < n < fewest:  # no rows at all are refused by the encoder, which knows whether the columns are missing too
        purposes = "to learn from, to tune and to calibrate" if tunes else "to learn from and to calibrate"
        raise InputError(f"at least {fewest} normal rows are needed, one each {purposes}; n_samples={n}.")
    order = np.random.default_rng(seed).permutation(n)
    n_calibration = MOST_TO_CALIBRATE if leave_one_out else number_to_calibrate(n)
    n_tuning = number_to_tune(n) if tunes else 0
    if leave_one_out:
        tuning, train = order[:n_tuning], order[n_tuning:]
        calibration = train[:n_calibration]
    else:
        calibration, tuning = order[:n_calibration], order[n_calibration : n_calibration + n_tuning]
        train = order[n_calibration + n_tuning :]
    return RowSplit(np.sort(train), np.sort(tuning), np.sort(calibration), leave_one_out)


def number_to_calibrate(n: int) -> int:
    """How many of n rows are kept apart to calibrate."""
    return min(int(np.clip(n // 10, FEWEST_TO_CALIBRATE, MOST_TO_CALIBRATE)), max(1, n // 3))


def number_to_tune(n: int) -> int:
    """How many of n rows are kept apart to tune, where anything is."""
    return min(int(np.clip(n // 20, FEWEST_TO_TUNE, MOST_TO_TUNE)), max(1, n // 6))


def split_without_calibration(n: int, seed: int, *, tunes: bool) -> RowSplit:
    """A random split of n rows, all of which are learned from but for those that tune.

    >>> split = split_without_calibration(1000, 0, tunes=True)
    >>> len(split.train), len(split.tuning), len(split.calibration)
    (950, 50, 0)
    """
    order, n_tuning = np.random.default_rng(seed).permutation(n), number_to_tune(n) if tunes else 0
    return RowSplit(np.sort(order[n_tuning:]), np.sort(order[:n_tuning]), np.empty(0, np.int64))


def fold_splits(n: int, seed: int, n_folds: int = N_FOLDS) -> list[RowSplit]:
    """One split for each fold: its rows calibrate, all others are learned from; every row calibrates once.

    >>> [(len(split.train), len(split.calibration)) for split in fold_splits(11, 0, n_folds=3)]
    [(7, 4), (7, 4), (8, 3)]
    """
    folds = np.array_split(np.random.default_rng(seed).permutation(n), min(n_folds, n))
    none = np.empty(0, np.int64)
    return [RowSplit(np.setdiff1d(np.arange(n), fold), none, np.sort(fold)) for fold in folds]


def in_step(batches: Iterable[Any], of_rows: NDArray[Any]) -> Iterator[tuple[Any, NDArray[Any]]]:
    """Each batch, with its rows' part of an array."""
    at = 0
    for rows in batches:
        here = of_rows[at : at + rows.n_rows]
        at += rows.n_rows
        if len(here) < rows.n_rows:
            break
        yield rows, here
    if at != len(of_rows):
        raise InputError(f"{len(of_rows):,} rows were counted, but a later reading found another number of them.")
