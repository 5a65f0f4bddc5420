"""The detector a job works with: one in memory, or one in a file."""

from __future__ import annotations

import copy
import os

from maskdiff.detectors import Detector
from maskdiff.errors import ModelFileError
from maskdiff.io.formats import FORMATS
from maskdiff.storage import load

Model = Detector | str | os.PathLike[str]


def as_detector(model: Model) -> Detector:
    """The detector itself or the one in that file; it shows no bar for each batch, for a job shows its own."""
    detector = copy.copy(model) if isinstance(model, Detector) else _loaded(model)
    detector.progress = False
    return detector


def _loaded(path: str | os.PathLike[str]) -> Detector:
    """The model in a file; one that is named like a table may have changed places with the rows."""
    try:
        return load(path)
    except ModelFileError as error:
        name = os.fspath(path).lower()
        if not any(name.endswith(format.endings) for format in FORMATS.values()):
            raise
        raise ModelFileError(f"{error} The model comes first, then the rows.") from error


def model_path(model: Model) -> str | None:
    """The file of a model, None for one in memory."""
    return None if isinstance(model, Detector) else os.fspath(model)
