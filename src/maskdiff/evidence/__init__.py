"""The sources of evidence about a row, and how they become one score."""

from maskdiff.evidence.base import Source
from maskdiff.evidence.combine import CellEvidence, Evidence, EvidenceTerm
from maskdiff.evidence.masked_surprise import MaskedSurprise
from maskdiff.evidence.nearest_rows import NearestRows
from maskdiff.evidence.nearest_texts import NearestTexts
from maskdiff.evidence.registry import SOURCES
from maskdiff.evidence.single_cells import SingleCells
from maskdiff.evidence.text_columns import TextColumns

__all__ = [
    "SOURCES",
    "CellEvidence",
    "Evidence",
    "EvidenceTerm",
    "MaskedSurprise",
    "NearestRows",
    "NearestTexts",
    "SingleCells",
    "Source",
    "TextColumns",
]
