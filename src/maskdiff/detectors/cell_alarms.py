"""What a table detector says about single cells, and the alarms they raise. N rows, F fields."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from maskdiff.calibration import CellCalibration, CellTail, Lift
from maskdiff.codes import BoolArray, Codes, FloatArray, IntArray, Schema
from maskdiff.evidence.single_cells import ColumnScale, SingleCells
from maskdiff.evidence.usual_values import UsualValues
from maskdiff.explanations.oddities import UsualRows
from maskdiff.state import check, from_plain, to_plain
from maskdiff.state.tensors import Tensors, named, under

if TYPE_CHECKING:
    from maskdiff.detectors.finding.cross_fit import CrossFit


@dataclass(frozen=True, eq=False)
class CellVerdicts:
    """How odd each cell is for its column, in standard deviations, (N, F), whatever the rest of its row looks like.

    `log_odds` (N, F) is how much likelier than the cell's own value the likeliest one was, in nats; 0 where the cell
    holds it, None where the reconstructor is not asked. A cell raises an alarm by itself if it is odder than `above`.
    Where one file is all there is, its own cells calibrate (a `CellTail`), oddness is in nats, and `judges` are the
    models that judged them, each cell by one that did not see its row.
    """

    oddness: FloatArray
    log_odds: FloatArray | None
    calibration: CellCalibration | CellTail
    above: float
    judges: CrossFit | None = None

    @property
    def is_anomaly(self) -> BoolArray:
        """Which cells raise an alarm by themselves, (N, F): their rows are alarms whatever else is in them."""
        return self.oddness > self.above

    @cached_property
    def p_value(self) -> FloatArray:
        """How likely a cell of a normal row is to be at least this odd in its column, (N, F)."""
        return self.calibration.p_values(self.oddness)

    def select(self, false_discovery_rate: float) -> BoolArray:
        """The cells of all these rows to report so that on average at most this share of them is fine, (N, F)."""
        return self.calibration.select(self.oddness, false_discovery_rate)

    def take(self, rows: IntArray | BoolArray) -> CellVerdicts:
        """The cells of these rows."""
        log_odds = None if self.log_odds is None else self.log_odds[rows]
        judges = None if self.judges is None else self.judges.take(rows)
        return replace(self, oddness=self.oddness[rows], log_odds=log_odds, judges=judges)


@dataclass(frozen=True, eq=False)
class FoldCells:
    """What the model of one fold says of the cells of the rows it did not learn from, (N, F), and its columns."""

    names: list[str]
    log_odds: FloatArray
    known: BoolArray


def joined(folds: list[FoldCells]) -> tuple[FloatArray, BoolArray]:
    """The cells of all folds under the columns of the last one; a column that another fold lacks is not odd there."""
    names = folds[-1].names
    parts = []
    for fold in folds:
        place = {name: at for at, name in enumerate(fold.names)}
        here = np.array([place.get(name, -1) for name in names])
        parts.append((np.where(here < 0, 0.0, fold.log_odds[:, here]), (here < 0) | fold.known[:, here]))
    return np.concatenate([odds for odds, _ in parts]), np.concatenate([known for _, known in parts])


@dataclass(frozen=True, eq=False)
class CellAlarms:
    """Judges single cells. Without a `lift` no cell raises an alarm for its row."""

    cells: SingleCells
    lift: Lift | None = None
    calibration: CellCalibration | None = None
    usual: UsualRows | None = None

    @classmethod
    def learned(
        cls, cells: SingleCells, beyond: FloatArray, scores: FloatArray, known: BoolArray, share: float
    ) -> CellAlarms:
        """From normal rows that were not learned from: how far their cells are beyond the usual, and their scores."""
        learned = cells.learned(beyond)
        assert learned.scale is not None
        oddest = learned.scale.oddness(beyond, known).max(axis=1)
        return cls(learned, Lift.of(scores, oddest, share))

    def alarm_score(self, scores: FloatArray, oddness: FloatArray) -> FloatArray:
        """The scores, raised where one cell is odder than the row as a whole, (N,)."""
        return scores if self.lift is None else self.lift.alarm_score(scores, oddness.max(axis=1))

    def calibrated(self, oddness: FloatArray, by_term: FloatArray) -> CellAlarms:
        """The same, with the cells of calibration rows, and what each term of evidence says of these rows."""
        return replace(self, calibration=CellCalibration.of(oddness), usual=UsualRows.of(oddness, by_term))

    def verdicts(self, log_odds: FloatArray, codes: Codes, threshold: float) -> CellVerdicts:
        """What there is to say about these cells where rows must score above `threshold`."""
        assert self.calibration is not None
        above = float("inf") if self.lift is None else self.lift.cell_threshold(threshold)
        oddness = self.cells.oddness(log_odds, codes)
        return CellVerdicts(oddness, log_odds if self.cells.asks else None, self.calibration, above)

    def to_state(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Everything that was learned; the reconstructor is stored elsewhere."""
        assert self.cells.scale is not None
        assert self.calibration is not None
        tensors = named(self.cells.scale.to_tensors(), "scale") | {"calibration": self.calibration.to_tensor()}
        if self.cells.usual is not None:
            tensors["usual"] = self.cells.usual.to_tensor()
        return {"lift": None if self.lift is None else to_plain(self.lift), "usual": to_plain(self.usual)}, tensors

    @classmethod
    def from_state(cls, plain: Any, tensors: Tensors, cells: SingleCells, schema: Schema, n_terms: int) -> CellAlarms:
        """What `to_state` gave, about the cells of this reconstructor."""
        check(isinstance(plain, dict) and set(plain) == {"lift", "usual"}, "its alarms of cells are not complete")
        check("calibration" in tensors, "its alarms of cells have no calibration")
        lift = None if plain["lift"] is None else from_plain(plain["lift"], Lift)
        usual = from_plain(plain["usual"], UsualRows)
        check(len(usual.terms) == n_terms, "what is usual for its rows has other terms")
        scale = ColumnScale.from_tensors(under(tensors, "scale"), len(schema))
        values = UsualValues.from_tensor(tensors["usual"], schema) if "usual" in tensors else None
        rest = set(tensors) - {"calibration", "usual", *named(under(tensors, "scale"), "scale")}
        check(not rest, f"it holds tensors that nothing uses: {', '.join(sorted(rest)[:3])}")
        calibration = CellCalibration.from_tensor(tensors["calibration"], len(schema))
        return cls(replace(cells, usual=values, scale=scale), lift, calibration, usual)
