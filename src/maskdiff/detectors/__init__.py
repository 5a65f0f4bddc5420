"""The detectors: what a user holds. They compose the rooms below and hold no mathematics of their own."""

from maskdiff.detectors.base import Detector
from maskdiff.detectors.cell_repairs import Repair
from maskdiff.detectors.combined_evidence import KERNEL, NEIGHBOURS
from maskdiff.detectors.finding.finder import find, repair
from maskdiff.detectors.finding.findings import Findings
from maskdiff.detectors.learning import MAIN
from maskdiff.detectors.sequences import SequenceDetector
from maskdiff.detectors.tables import TableDetector
from maskdiff.detectors.texts import TextDetector
from maskdiff.detectors.tokens import TokenDetector
from maskdiff.detectors.verdicts import TokenVerdicts, Verdicts

# Those that model files may hold, by the names of their classes.
DETECTORS: dict[str, type[Detector]] = {
    "SequenceDetector": SequenceDetector,
    "TableDetector": TableDetector,
    "TextDetector": TextDetector,
}

__all__ = [
    "DETECTORS",
    "KERNEL",
    "MAIN",
    "NEIGHBOURS",
    "Detector",
    "Findings",
    "Repair",
    "SequenceDetector",
    "TableDetector",
    "TextDetector",
    "TokenDetector",
    "TokenVerdicts",
    "Verdicts",
    "find",
    "repair",
]
