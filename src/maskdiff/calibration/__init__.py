"""What a score means: p-values, thresholds and selections of rows and of cells, from normal rows not trained on."""

from maskdiff.calibration.cell_tail import CellTail
from maskdiff.calibration.cells import CellCalibration, CellSelection
from maskdiff.calibration.column_rates import on_one_scale
from maskdiff.calibration.common_values import drawn_to_common
from maskdiff.calibration.lift import Lift
from maskdiff.calibration.rows import DEFAULT_RATE, Calibration
from maskdiff.calibration.usual_cells import beyond_usual

__all__ = [
    "DEFAULT_RATE",
    "Calibration",
    "CellCalibration",
    "CellSelection",
    "CellTail",
    "Lift",
    "beyond_usual",
    "drawn_to_common",
    "on_one_scale",
]
