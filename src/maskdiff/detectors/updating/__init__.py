"""Learning on from more normal rows: what a model keeps for it, how it is done, and what it changed."""

from maskdiff.detectors.updating.kept_rows import KeptRows
from maskdiff.detectors.updating.summary import UpdateSummary

__all__ = ["KeptRows", "UpdateSummary"]
