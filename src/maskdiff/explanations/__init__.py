"""Contributions become reasons: ranked cells with the values that were expected there, and shaded texts."""

from maskdiff.explanations.contradictions import contradicted, contradictions
from maskdiff.explanations.meant_values import MeantValues
from maskdiff.explanations.odd_cells import (
    CellPlaces,
    OddCells,
    Places,
    expected_codes,
    explanation_table,
    odd_cells,
    own_probability,
)

__all__ = [
    "CellPlaces",
    "MeantValues",
    "OddCells",
    "Places",
    "contradicted",
    "contradictions",
    "expected_codes",
    "explanation_table",
    "odd_cells",
    "own_probability",
]
