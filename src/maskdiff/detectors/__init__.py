"""The detectors: what a user holds. They compose the rooms below and hold no mathematics of their own."""

from maskdiff.detectors.base import MAIN, Detector
from maskdiff.detectors.sequences import SequenceDetector
from maskdiff.detectors.tables import KERNEL, NEIGHBOURS, TableDetector
from maskdiff.detectors.texts import TextDetector
from maskdiff.detectors.tokens import TokenDetector
from maskdiff.detectors.verdicts import TokenVerdicts, Verdicts

__all__ = [
    "KERNEL",
    "MAIN",
    "NEIGHBOURS",
    "Detector",
    "SequenceDetector",
    "TableDetector",
    "TextDetector",
    "TokenDetector",
    "TokenVerdicts",
    "Verdicts",
]
