"""The methods that are measured on planted errors: ours, and simple ones beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from maskdiff.bench.studies.cells.forest import ForestAndZScores
from maskdiff.bench.studies.cells.frequency import FrequencyRule
from maskdiff.bench.studies.cells.judgement import Calibrated, CellDetector, CountingDetector, OurCells
from maskdiff.bench.studies.cells.outlier_tree import OutlierTrees
from maskdiff.bench.studies.cells.pair_rule import PairRule
from maskdiff.detectors import TableDetector


@dataclass(frozen=True)
class CellMethod:
    """How to make a detector from a seed and a device, and whose it is."""

    build: Callable[[int, str], CellDetector]
    group: str


def _ours(**settings: Any) -> CellMethod:
    def build(seed: int, device: str) -> CellDetector:
        return OurCells(TableDetector(**settings, seed=seed, device=device, progress=False))

    return CellMethod(build, "ours")


def _simple(build: Callable[..., CountingDetector], group: str = "baselines") -> CellMethod:
    return CellMethod(lambda seed, device: Calibrated(build(seed=seed), seed=seed), group)


# The registry: a baseline is a file of its own and one line here.
CELL_METHODS: dict[str, CellMethod] = {
    "default": _ours(),
    "kernel": _ours(reconstructor="kernel"),
    "mlp": _ours(reconstructor="mlp"),
    "iforest": _simple(ForestAndZScores),
    "frequency": _simple(FrequencyRule),
    "pairs": _simple(PairRule),
    "outliertree": _simple(OutlierTrees, "extra"),
}
