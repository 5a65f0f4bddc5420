"""The sources of evidence. A new one is a file beside this one and a line here."""

from __future__ import annotations

from typing import Any

from maskdiff.evidence.masked_surprise import MaskedSurprise
from maskdiff.evidence.nearest_rows import NearestRows
from maskdiff.evidence.nearest_texts import NearestTexts
from maskdiff.evidence.text_columns import TextColumns

# Name in model files -> class; each answers `Source`.
SOURCES: dict[str, Any] = {
    "masked_surprise": MaskedSurprise,
    "nearest_rows": NearestRows,
    "nearest_texts": NearestTexts,
    "text_columns": TextColumns,
}


def name_of(source: Any) -> str | None:
    """The name a source's class is registered under."""
    return next((name for name, cls in SOURCES.items() if cls is type(source)), None)
