"""An exported model as it lies in its folder, and what all scorers make of scores. B rows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

_TIE = 1e-5
FORMAT = 4


@dataclass(frozen=True, eq=False)
class RowVerdicts:
    """Score, what is compared with the threshold, p-value and alarm of each row, each (B,)."""

    score: np.ndarray
    alarm_score: np.ndarray
    p_value: np.ndarray
    is_anomaly: np.ndarray


class Exported:
    """The files of a model: its description, its arrays and its network."""

    rows_are: str

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.description = read_description(self.folder)
        if self.description["rows"] != self.rows_are:
            raise ValueError(f"{folder} reads {self.description['rows']}, not {self.rows_are}: use `load`.")
        with np.load(self.folder / "arrays.npz", allow_pickle=False) as arrays:
            self.arrays = dict(arrays)
        self.threshold: float = self.description["threshold"]

    def session(self) -> Any:
        """The network, run by onnxruntime; None where the model has none."""
        path = self.folder / "network.onnx"
        if not path.is_file():
            return None
        import onnxruntime

        return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])

    def verdicts(self, score: np.ndarray, alarm_score: np.ndarray) -> RowVerdicts:
        """What follows from these scores."""
        return RowVerdicts(score, alarm_score, self._p_values(alarm_score), alarm_score > self.threshold)

    def _p_values(self, scores: np.ndarray) -> np.ndarray:
        known = self.arrays["calibration"]
        slack = _TIE * np.maximum(1.0, np.abs(scores))
        reached = len(known) - np.searchsorted(known, scores - slack, side="left")
        return np.where(np.isnan(scores), 1.0, (1.0 + reached) / (len(known) + 1.0))


def read_description(folder: Path) -> dict[str, Any]:
    """What `model.json` says, if this runtime can read it."""
    description: dict[str, Any] = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    if description["format"] != FORMAT:
        raise ValueError(f"{folder} has format {description['format']}; this runtime reads format {FORMAT}.")
    return description
