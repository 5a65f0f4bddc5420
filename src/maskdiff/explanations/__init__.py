"""Contributions become reasons: ranked cells with the values that were expected there, and shaded texts."""

from maskdiff.explanations.contradictions import contradicted, contradictions
from maskdiff.explanations.odd_cells import CellPlaces, OddCells, expected_codes, explanation_table, odd_cells

__all__ = [
    "CellPlaces",
    "OddCells",
    "contradicted",
    "contradictions",
    "expected_codes",
    "explanation_table",
    "odd_cells",
]
