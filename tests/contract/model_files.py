"""A detector's settings and everything it learned, as its model file holds them."""

from __future__ import annotations

from pathlib import Path

from safetensors import safe_open

from maskdiff import save
from maskdiff.detectors.base import Detector


def contents(detector: Detector, folder: Path) -> dict[str, str]:
    """The header of the model file, which includes the digest of all its tensors."""
    path = folder / "contents.maskdiff"
    save(detector, path)
    with safe_open(path, framework="np") as file:
        header: dict[str, str] = file.metadata()
    return header
