"""An exported model: a folder with the network, what goes with it, and the runtime that reads both."""

from __future__ import annotations

import io
import json
import os
import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from maskdiff.detectors import Detector, TableDetector, TokenDetector
from maskdiff.errors import SettingError
from maskdiff.export.description import Arrays, described
from maskdiff.export.network import network_graph
from maskdiff.export.token_description import described_tokens, tokenizer_file
from maskdiff.export.token_network import token_graph
from maskdiff.io.atomic import atomic_write
from maskdiff.reconstructors import MLPReconstructor

RUNTIME = "maskdiff_runtime"


def export_model(detector: Detector, folder: str | os.PathLike[str], *, force: bool = False) -> list[Path]:
    """Write a fitted detector to a folder that scores with numpy and onnxruntime; the files written.

    Scores are those of the whole grid of probes, `detector.with_effort("full")`. A folder that is not empty is written
    to only with `force`.
    """
    if detector.dismissals_:
        raise SettingError("a model with rules about dismissed alarms cannot be exported: undo them first.")
    contents = _contents(detector)
    out = Path(folder)
    if out.exists() and (not out.is_dir() or any(out.iterdir())) and not force:
        raise SettingError(f"{out} is there already and not an empty folder. Name another one, or use force=True.")
    out.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        with atomic_write(out / name) as file:
            file.write(content)
    _copy_runtime(out / RUNTIME)
    return [out / name for name in (*contents, RUNTIME)]


def _contents(detector: Detector) -> dict[str, bytes]:
    """The files of the model, by name."""
    if isinstance(detector, TableDetector):
        network = detector.reconstructor_
        graph = network_graph(network) if isinstance(network, MLPReconstructor) else None
        return _files(*described(detector), graph)
    if isinstance(detector, TokenDetector):
        written = _files(*described_tokens(detector), token_graph(detector.reconstructor_))
        tokenizer = tokenizer_file(detector)
        return written if tokenizer is None else written | {"tokenizer.json": tokenizer.encode()}
    raise SettingError(f"a {type(detector).__name__} cannot be exported: only models of tables and tokens can.")


def _files(plain: dict[str, Any], arrays: Arrays, graph: bytes | None) -> dict[str, bytes]:
    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)  # type: ignore[arg-type]
    known = {"model.json": json.dumps(plain, allow_nan=False, indent=1).encode(), "arrays.npz": packed.getvalue()}
    return known if graph is None else known | {"network.onnx": graph}


def _copy_runtime(target: Path) -> None:
    target.mkdir(exist_ok=True)
    for source in files("maskdiff.runtime").iterdir():
        if source.name.endswith(".py"):
            shutil.copyfile(str(source), target / source.name)
