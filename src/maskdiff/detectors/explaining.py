"""The half of a detector that names reasons: the cells behind a score, and what was expected there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from maskdiff.cascade import by_whole_grid
from maskdiff.codes import BoolArray, Codes, FloatArray
from maskdiff.codes.windows import Windows
from maskdiff.detectors.labels import labelled
from maskdiff.detectors.verdicts import Verdicts
from maskdiff.errors import SettingError
from maskdiff.evidence import CellEvidence, Evidence
from maskdiff.explanations import (
    CellPlaces,
    OddCells,
    contradicted,
    contradictions,
    expected_codes,
    explanation_table,
    odd_cells,
    own_probability,
)
from maskdiff.explanations.contradictions import MOST_COMPARED, RARELY_AS_ODD
from maskdiff.masking import Schedule, as_schedule
from maskdiff.probes import ProbeGrid


class Explaining:
    """Explains rows that a detector judged."""

    encoder_: Any
    reconstructor_: Any
    evidence_: Evidence
    probes_: ProbeGrid
    schedule: str | Schedule

    if TYPE_CHECKING:

        def judge(self, X: Any, false_alarm_rate: float | None = None) -> Verdicts: ...

        def torch_device(self) -> torch.device: ...

        def _read(self, X: Any) -> Any: ...

    def explain(self, X: Any, top: int = 3, *, verdicts: Verdicts | None = None) -> Any:
        """The cells that are the reasons for each row's score, at most `top`, as a pandas DataFrame, one line per cell.

        Of a table's cells those come first whose expected value was likelier by far than their own, and of cells that
        are odd together the one whose repair makes the others likely; a cell that holds what was expected is no reason.
        Where the reconstructor cannot be asked about single cells, and in texts, those
        come first that add most to the score.

        Columns: row (its place in X), column, value, contribution (what the cell adds to the score, in its unit),
        share (of the row's score), surprise (nats), expected (what should be there: the likeliest value given the rest
        of the row, for a typo the value it looks like), expected_probability, contradicts (the other one of two cells
        that are only odd together, such as "seats = 2", if one of them is the row's first reason), oddity (what makes
        the row odd: it is "rare in itself", "odd in context" or "far from everything"; the same for all cells of a row)
        and note (what else there is to say, such as "largest seen 6517"; mostly nothing). The index holds the label of
        each cell's row, so that `X.join(explanation)` finds it: the index of X in pandas, positions otherwise. Hand in
        what `judge(X)` returned to save scoring the rows again.
        """
        if top < 1:
            raise SettingError(f"top must be at least 1; got {top}.")
        verdicts = verdicts or self.judge(X)
        if verdicts.judges is not None:
            return labelled(verdicts.judges.explain(self._read(X), top), verdicts.labels)
        verdicts = self._by_whole_grid(verdicts)
        strength = self.reason_strength(verdicts)
        cells = odd_cells(verdicts.contributions, top, strength)
        values = self._shown_values(X, cells.row, cells.field, verdicts.codes)
        notes = self.encoder_.notes(X, cells.row, cells.field)
        contradicts = self._contradicts(X, cells, strength, verdicts)
        expected = self.suggested_codes(X, verdicts.codes, cells)
        table = self._explanation(cells, verdicts.surprise, verdicts.codes, expected, values, notes, contradicts)
        table["oddity"] = "" if verdicts.oddity is None else verdicts.oddity[cells.row]
        return labelled(table, verdicts.labels)

    def _by_whole_grid(self, verdicts: Verdicts) -> Verdicts:
        """The same verdicts, with the reasons of rows that were looked at once found by the whole grid."""
        if verdicts.looks is None or verdicts.looks.min(initial=2) > 1:
            return verdicts
        once = np.flatnonzero(verdicts.looks == 1)
        row = verdicts.codes.row if isinstance(verdicts.codes, Windows) else None
        found = CellEvidence(verdicts.contributions, verdicts.surprise, row, verdicts.by_term)
        found = by_whole_grid(found, verdicts.codes, self.evidence_, once)
        parts: dict[str, Any] = {"contributions": found.contributions, "surprise": found.surprise}
        looks = np.full_like(verdicts.looks, 2)
        return replace(verdicts, anomaly_score=found.score, by_term=found.by_term, looks=looks, **parts)

    def reason_strength(self, verdicts: Verdicts) -> FloatArray:
        """What the cells of judged rows are ranked by as reasons, shape (N, F); those above 0 are named."""
        return verdicts.strength

    def _contradicts(self, X: Any, cells: OddCells, strength: FloatArray, verdicts: Verdicts) -> list[str]:
        """The cell that each of these contradicts, as a text; empty where there is none."""
        codes, of_cells = verdicts.codes, verdicts.cells
        reasons = odd_cells(verdicts.contributions, MOST_COMPARED, strength)
        odd = np.ones(codes.values.shape, np.bool_)
        if of_cells is not None and of_cells.oddness.any():  # without calibration it is not known what is odd
            odd = of_cells.p_value <= RARELY_AS_ODD
        hides: dict[str, Any] = {"mask_rate": self._mask_rate, "device": self.torch_device()}
        other = contradicted(cells, contradictions(self.reconstructor_, codes, reasons, odd, **hides))
        by_text = self._text_contradicts(cells.row, cells.field, verdicts)
        other = np.where(by_text >= 0, by_text, other)
        found, names = np.flatnonzero(other >= 0), codes.schema.names
        texts = [""] * len(other)
        for at, value in zip(found, self.encoder_.display(X, cells.row[found], other[found]), strict=True):
            texts[at] = f"{names[other[at]]} = {value}"
        return texts

    def _shown_values(self, X: Any, row: NDArray[np.int64], place: NDArray[np.int64], codes: Codes) -> list[str]:
        """These cells as a person reads them."""
        values: list[str] = self.encoder_.display(X, row, place)
        return values

    def _text_contradicts(
        self, row: NDArray[np.int64], place: NDArray[np.int64], verdicts: Verdicts
    ) -> NDArray[np.int64]:
        """The field that each of these cells contradicts by what it says, (C,); -1 for none: here always."""
        return np.full(len(row), -1, np.int64)

    @property
    def _mask_rate(self) -> float:
        """The share of hidden cells that reconstructors are given where one or two are."""
        return float(as_schedule(self.schedule).mask_rate(torch.tensor(self.probes_.levels[0])))

    def _explanation(
        self,
        cells: OddCells,
        surprise: FloatArray,
        codes: Codes,
        expected: tuple[NDArray[np.int64], FloatArray],
        values: Sequence[str],
        notes: Sequence[str] | None = None,
        contradicts: Sequence[str] | None = None,
    ) -> Any:
        """These cells as a table, with the codes expected in their places and their probabilities."""
        says = self._says_something(codes, cells, *expected)
        return explanation_table(cells, surprise, *expected, codes, values, notes, contradicts, says)

    def _says_something(
        self, codes: Codes, cells: CellPlaces, expected: NDArray[np.int64], probability: FloatArray
    ) -> BoolArray | None:
        """Which of these expected values are worth naming; None: all."""
        return None

    def expected_codes(self, codes: Codes, cells: CellPlaces) -> tuple[NDArray[np.int64], FloatArray]:
        """The code expected in each of these cells, given the rest of its row, and that code's probability."""
        hides: dict[str, Any] = {"mask_rate": self._mask_rate, "device": self.torch_device()}
        return expected_codes(self.reconstructor_, codes, cells, **hides)

    def suggested_codes(self, X: Any, codes: Codes, cells: CellPlaces) -> tuple[NDArray[np.int64], FloatArray]:
        """The code that should be in each of these cells of X, and its probability: here the one expected."""
        return self.expected_codes(codes, cells)

    def own_probability(self, codes: Codes, cells: CellPlaces) -> FloatArray:
        """The probability of the code that is in each of these cells, given the rest of its row."""
        hides: dict[str, Any] = {"mask_rate": self._mask_rate, "device": self.torch_device()}
        return own_probability(self.reconstructor_, codes, cells, **hides)
