"""A model on its way to the workers: the bytes of its file, checked like any other model file when it arrives."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import Any

from maskdiff.detectors import Detector
from maskdiff.jobs.models import Model, as_detector, model_path
from maskdiff.storage import load, save


def model_bytes(model: Model) -> bytes:
    """The model file of a detector, or the one at a path, once it is known that it can be loaded."""
    detector, path = as_detector(model), model_path(model)
    if path is not None:
        return Path(path).read_bytes()
    with tempfile.TemporaryDirectory(prefix="maskdiff-") as folder:
        file = Path(folder, "model.maskdiff")
        save(detector, file)
        return file.read_bytes()


def held_value(given: Any) -> Any:
    """The value itself, or the one that Ray holds for all workers."""
    if type(given).__name__ != "ObjectRef":
        return given
    import ray

    return ray.get(given)


def model_digest(content: bytes) -> str:
    """A text that two models share only if they are the same."""
    return hashlib.sha256(content).hexdigest()


def detector_of(content: bytes, *, gpus: float = 0.0) -> Detector:
    """The detector in a model file; it computes on a graphics card only where the worker was given one."""
    with tempfile.TemporaryDirectory(prefix="maskdiff-") as folder:
        file = Path(folder, "model.maskdiff")
        file.write_bytes(content)
        detector = load(file)
    detector.device, detector.progress = ("auto" if gpus else "cpu"), False
    return detector
