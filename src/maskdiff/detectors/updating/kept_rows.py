"""What a model keeps of the rows it was fitted on, so that it can learn on; and who learns and who calibrates then.

Kept are, as codes: all rows that tune and all that calibrate (at most 1,000 and 2,000 in a fit), which are never
learned from, and of the rows learned from a uniform sample, unless the references of some evidence are one. A value of
a row kept apart that has no code is kept as it is. A fingerprint says nothing about cells; these rows do.

Which of the new rows tune or calibrate is decided by a hash of their numbers, counted over all rows there ever were:
it depends on nothing that is in a row, so the rows kept apart stay exchangeable with new normal rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from maskdiff.codes import Schema
from maskdiff.codes.hashes import numbers_hashed
from maskdiff.detectors.split import number_to_calibrate, number_to_tune
from maskdiff.detectors.updating.stored_rows import StoredRows
from maskdiff.state import check, fits
from maskdiff.state.tensors import Tensors, check_names, named, under

# A uniform sample of the rows learned from has at most so many rows, and so many cells.
MOST_ROWS, MOST_CELLS = 5000, 1 << 21
# So many letters of a text count as one cell.
_LETTERS_OF_A_CELL = 4
# The rows that are never learned from.
APART = ("tuning", "calibration")
_PARTS = ("learned", *APART)
_NUMBERS = ("n_rows", "n_learned")


@dataclass(frozen=True, eq=False)
class KeptRows:
    """A sample of the `n_learned` rows learned from, and those kept apart, of `n_rows` rows there ever were.

    `compared` names those kept apart that are among the references of the evidence, once they have decided.
    """

    learned: StoredRows
    tuning: StoredRows
    calibration: StoredRows
    n_rows: int
    n_learned: int
    compared: tuple[str, ...] = ()

    def deal(self, n: int, seed: int) -> Deal:
        """Who learns, tunes and calibrates once n rows are added."""
        total, tunes = self.n_rows + n, len(self.tuning) > 0
        hashes = numbers_hashed(self.n_rows, n, seed)
        order = np.argsort(hashes, kind="stable")
        kept, taken = _shares(len(self.calibration), self.n_rows, n, number_to_calibrate(total), most=n // 3)
        tuning_kept, tuning_taken = (
            _shares(len(self.tuning), self.n_rows, n, number_to_tune(total), most=n // 6) if tunes else (0, 0)
        )
        apart = taken + tuning_taken
        held = (len(self.calibration), len(self.tuning))
        old = [np.argsort(numbers_hashed(0, n_held, total), kind="stable") for n_held in held]
        return Deal(
            train=np.sort(order[apart:]),
            tuning=np.sort(order[taken:apart]),
            calibration=np.sort(order[:taken]),
            calibration_kept=np.sort(old[0][:kept]),
            calibration_freed=np.sort(old[0][kept:]),
            tuning_kept=np.sort(old[1][:tuning_kept]),
            tuning_freed=np.sort(old[1][tuning_kept:]),
        )

    # Keeping ---------------------------------------------------------------------------------------------------------

    def to_state(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """All rows and numbers."""
        plain: dict[str, Any] = {name: getattr(self, name) for name in _NUMBERS} | {"compared": [*self.compared]}
        tensors: dict[str, Tensor] = {}
        for name in _PARTS:
            plain[name], own = getattr(self, name).to_state()
            tensors |= named(own, name)
        return plain, tensors

    @classmethod
    def from_state(cls, plain: Any, tensors: Tensors, schema: Schema, *, of_tokens: bool) -> KeptRows:
        """What `to_state` gave, checked."""
        wanted = {*_NUMBERS, "compared", *_PARTS}
        check(isinstance(plain, dict) and set(plain) == wanted, "the rows it keeps are not described")
        compared = plain["compared"]
        check(isinstance(compared, list) and all(name in APART for name in compared), "it compares with other rows")
        check_names(tensors, *(f"{part}.{name}" for part in _PARTS for name in ("codes", "lengths")))
        parts = {
            name: StoredRows.from_state(plain[name], under(tensors, name), schema, of_tokens=of_tokens)
            for name in _PARTS
        }
        numbers = [plain[name] for name in _NUMBERS]
        check(all(fits(n, int) and 0 < n < 1 << 53 for n in numbers), "it counts its rows wrongly")
        enough = numbers[1] <= numbers[0] and bool(parts["learned"].is_known.all())
        check(enough and len(parts["calibration"]) > 0, "the rows it keeps do not fit together")
        apart = parts["tuning"], parts["calibration"]
        return cls(parts["learned"], *apart, numbers[0], numbers[1], tuple(compared))


@dataclass(frozen=True, eq=False)
class Deal:
    """Places of new rows that learn, tune and calibrate, and of rows kept apart that stay so or are learned from."""

    train: NDArray[np.int64]
    tuning: NDArray[np.int64]
    calibration: NDArray[np.int64]
    calibration_kept: NDArray[np.int64]
    calibration_freed: NDArray[np.int64]
    tuning_kept: NDArray[np.int64]
    tuning_freed: NDArray[np.int64]


def _shares(held: int, n_old: int, n_new: int, wanted: int, *, most: int) -> tuple[int, int]:
    """How many of `held` old rows stay apart and how many new ones are added, to have about as many as wanted.

    Of old and new rows the same share, so that together they are a uniform sample of all; more of the new ones only
    where there are too few old ones.
    """
    kept = min(held, round(wanted * n_old / (n_old + n_new)))
    return kept, min(most, wanted - kept)


def sample_of(rows: StoredRows, seed: int) -> StoredRows:
    """A uniform sample of these rows that is small enough to be kept."""
    letters = sum(len(text or "") for own in (rows.texts or {}).values() for text in own)
    cells = len(rows.values) + letters // _LETTERS_OF_A_CELL
    most = min(MOST_ROWS, max(1, MOST_CELLS * len(rows) // max(1, cells)))
    if len(rows) <= most:
        return rows
    return rows.take(np.sort(np.argsort(numbers_hashed(0, len(rows), seed), kind="stable")[:most]))
