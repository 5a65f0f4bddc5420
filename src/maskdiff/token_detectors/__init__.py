"""Detectors of token rows: lists of symbols, and text. The same path as for tables; a cell is a token at its place."""

from maskdiff.token_detectors.base import TokenDetector, TokenVerdicts
from maskdiff.token_detectors.sequences import SequenceDetector
from maskdiff.token_detectors.texts import TextDetector

__all__ = ["SequenceDetector", "TextDetector", "TokenDetector", "TokenVerdicts"]
