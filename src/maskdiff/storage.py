"""One model file in, one out: safetensors for the numbers, JSON for everything else, never pickle.

The JSON stands in the file's header. A digest over it and every tensor shows damage; the format number shows files
of other versions. Nothing is built before both have been checked. What is in a file is up to those who are kept: the
detector and everything below it have `to_state` and `from_state`, are found in the registries of their rooms, and
check what they are given.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from torch import Tensor

from maskdiff.detectors import DETECTORS, Detector
from maskdiff.errors import MaskdiffError, MissingExtraError, ModelFileError, SettingError
from maskdiff.io.atomic import atomic_write
from maskdiff.io.outputs import FileContent, check_output
from maskdiff.state import check, look_up
from maskdiff.version import __version__

FORMAT = 6
# The longest header a safetensors file may have.
_LONGEST_HEADER = 100_000_000
# What can go wrong in a file that was altered and signed again, beside what is looked for.
_UNFORESEEN = (KeyError, TypeError, IndexError, AttributeError, ArithmeticError, RuntimeError, ValueError)


def _is_model(file: BinaryIO) -> bool:
    length = int.from_bytes(file.read(8), "little")
    header = file.read(length) if length <= _LONGEST_HEADER else b""
    return header.startswith(b"{") and b'"maskdiff"' in header


_TABLES = (".csv", ".tsv", ".txt", ".gz", ".zip", ".parquet", ".json", ".jsonl", ".arrow", ".xlsx", ".xls", ".html")
MODEL_FILE = FileContent(
    "a model",
    _is_model,
    ((_TABLES, "Name it without that ending, such as claims.maskdiff."),),
)


def save(detector: Detector, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write a fitted detector to one file; an existing model is replaced only once the new one is complete.

    A file that is not a model is replaced only with `force`.
    """
    from safetensors.torch import save as to_bytes

    check_output(path, content=MODEL_FILE, force=force)
    name = type(detector).__name__
    if DETECTORS.get(name) is not type(detector):
        raise SettingError(f"a {name} cannot be saved: only detectors in maskdiff.detectors.DETECTORS can.")
    state, tensors = detector.to_state()
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    text = json.dumps({"detector": name, "state": state}, sort_keys=True, allow_nan=False)
    header = {"maskdiff": text, "format": str(FORMAT), "version": __version__}
    header["digest"] = _digest(header, tensors)
    with atomic_write(path) as file:
        file.write(_in_order(to_bytes(tensors, metadata=header)))


def load(path: str | os.PathLike[str]) -> Detector:
    """Read a detector that `save` wrote; anything else is refused with a ModelFileError."""
    text, tensors = _read(Path(path))
    try:
        return _build(json.loads(text, parse_constant=_refuse_constant), tensors)
    except MissingExtraError:
        raise
    except (MaskdiffError, RecursionError, *_UNFORESEEN) as error:
        reason = str(error) if isinstance(error, MaskdiffError) else f"{error!r}"
        raise ModelFileError(f"{path}: {' '.join(reason.split())[:400]} Save the detector again.") from error


def _refuse_constant(name: str) -> NoReturn:
    raise ModelFileError(f"the model file cannot be used: {name} stands for a number.")


def _build(manifest: Any, tensors: dict[str, Tensor]) -> Detector:
    """The detector that a manifest describes."""
    complete = isinstance(manifest, dict) and set(manifest) == {"detector", "state"}
    check(complete, "it does not describe a detector")
    return look_up(manifest["detector"], DETECTORS, "detector").from_state(manifest["state"], tensors)


def _in_order(content: bytes) -> bytes:
    """The same safetensors file with the names of its header sorted: otherwise two saves of a model would differ."""
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.dumps(json.loads(content[8:end]), sort_keys=True).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + content[end:]


def _read(path: Path) -> tuple[str, dict[str, Tensor]]:
    """The checked contents of a model file: its JSON and its tensors."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise ModelFileError(f"there is no model file at {path}.")
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            _check_format(path, header)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{path} is not a maskdiff model file, or is damaged ({error}).") from error
    if _digest(header, tensors) != header.get("digest"):
        raise ModelFileError(f"{path} is damaged: its contents do not match their digest. Save the detector again.")
    return header["maskdiff"], tensors


def _check_format(path: Path, header: dict[str, str]) -> None:
    """Refuse files of others and of other versions."""
    if "maskdiff" not in header:
        raise ModelFileError(f"{path} is a safetensors file, but not one that maskdiff wrote.")
    found = int(header.get("format", 0))
    wrote = f"{path} was written by maskdiff {header.get('version', '(unknown)')} in format {found}"
    if found > FORMAT:
        raise ModelFileError(f"{wrote}; maskdiff {__version__} reads format {FORMAT}. Upgrade maskdiff.")
    if found < FORMAT:
        raise ModelFileError(
            f"{wrote}, which maskdiff {__version__} no longer reads: it reads format {FORMAT}. Fit the detector again."
        )


def _digest(header: dict[str, str], tensors: dict[str, Tensor]) -> str:
    signed = [header[name] for name in ("format", "version", "maskdiff") if name in header]
    digest = hashlib.sha256(" ".join(signed).encode())
    for name in sorted(tensors):
        digest.update(f"{name} {tuple(tensors[name].shape)} {tensors[name].dtype}".encode())
        digest.update(tensors[name].contiguous().numpy().tobytes())
    return digest.hexdigest()
