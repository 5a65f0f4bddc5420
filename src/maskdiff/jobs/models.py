"""The detector a job works with: one in memory, or one in a file."""

from __future__ import annotations

import copy
import os

from maskdiff.detectors import Detector
from maskdiff.storage import load

Model = Detector | str | os.PathLike[str]


def as_detector(model: Model) -> Detector:
    """The detector itself or the one in that file; it shows no bar for each batch, for a job shows its own."""
    detector = copy.copy(model) if isinstance(model, Detector) else load(model)
    detector.progress = False
    return detector


def model_path(model: Model) -> str | None:
    """The file of a model, None for one in memory."""
    return None if isinstance(model, Detector) else os.fspath(model)
