"""An exported model: a folder with the network, what goes with it, and the runtime that reads both."""

from __future__ import annotations

import json
import os
import shutil
from importlib.resources import files
from pathlib import Path

import numpy as np

from maskdiff.detectors import Detector
from maskdiff.errors import SettingError
from maskdiff.export.description import check_exportable, described
from maskdiff.export.network import network_graph
from maskdiff.io.atomic import atomic_write
from maskdiff.reconstructors import MLPReconstructor

RUNTIME = "maskdiff_runtime"
_FILES = ("model.json", "arrays.npz", "network.onnx", RUNTIME)


def export_model(detector: Detector, folder: str | os.PathLike[str], *, force: bool = False) -> list[Path]:
    """Write a fitted detector of tables to a folder that numpy and onnxruntime can score with; the files written.

    Scores are those of the whole grid of probes, `detector.with_effort("full")`. A folder that is not empty is written
    to only with `force`.
    """
    check_exportable(detector)
    plain, arrays = described(detector)
    graph = network_graph(detector.reconstructor_) if isinstance(detector.reconstructor_, MLPReconstructor) else None
    out = Path(folder)
    if out.exists() and (not out.is_dir() or any(out.iterdir())) and not force:
        raise SettingError(f"{out} is there already and not an empty folder. Name another one, or use force=True.")
    out.mkdir(parents=True, exist_ok=True)
    with atomic_write(out / "model.json") as file:
        file.write(json.dumps(plain, allow_nan=False, indent=1).encode())
    with atomic_write(out / "arrays.npz") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    if graph is not None:
        with atomic_write(out / "network.onnx") as file:
            file.write(graph)
    _copy_runtime(out / RUNTIME)
    return [out / name for name in _FILES if (out / name).exists()]


def _copy_runtime(target: Path) -> None:
    target.mkdir(exist_ok=True)
    for source in files("maskdiff.runtime").iterdir():
        if source.name.endswith(".py"):
            shutil.copyfile(str(source), target / source.name)
