"""One model file in, one out: safetensors for the numbers, JSON for everything else, never pickle.

The JSON stands in the file's header. A digest over it and every tensor tells damage; the format number tells files
from newer versions. Nothing is built before both have been checked, and only classes named here are built at all.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from maskdiff import objectives, probes, training
from maskdiff.calibration import Calibration
from maskdiff.detectors import MAIN, Detector, SequenceDetector, TableDetector, TextDetector
from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.encoders.tokens.embedder import TextEmbedder
from maskdiff.encoders.tokens.sequence import SequenceEncoder
from maskdiff.encoders.tokens.text import TextEncoder
from maskdiff.errors import ModelFileError, SettingError
from maskdiff.evidence.combine import Distances, Evidence, EvidenceTerm, MaskedSurprise, Meanings
from maskdiff.evidence.nearest_rows import NearestRows
from maskdiff.evidence.nearest_texts import NearestTexts
from maskdiff.io.atomic import atomic_write
from maskdiff.masking import Cosine, Linear, Polynomial, as_schedule
from maskdiff.reconstructors import (
    KernelReconstructor,
    MLPReconstructor,
    PretrainedReconstructor,
    TransformerReconstructor,
)
from maskdiff.reconstructors.pretrained import ModelFacts
from maskdiff.score import Typical
from maskdiff.version import __version__

FORMAT = 1
_SETTINGS = (
    *(probes.ProbeGrid, training.Training, training.Epochs, training.Steps, training.HeldOutLoss),
    *(objectives.Reconstruction, objectives.Diffusion, Linear, Cosine, Polynomial),
    *(MLPReconstructor, KernelReconstructor, NearestRows, EvidenceTerm),
    *(TransformerReconstructor, PretrainedReconstructor, ModelFacts, Typical, NearestTexts, TextEmbedder),
)
_BY_NAME: dict[str, Any] = {cls.__name__: cls for cls in _SETTINGS}
_LEFT_BEHIND = ("progress", "device")


def save(detector: Detector, path: str | os.PathLike[str]) -> None:
    """Write a fitted detector to one file; an existing file is replaced only once the new one is complete."""
    from safetensors.torch import save as to_bytes

    manifest, tensors = _state(detector)
    text = json.dumps(manifest, sort_keys=True, allow_nan=False)
    header = {"maskdiff": text, "format": str(FORMAT), "version": __version__}
    header["digest"] = _digest(header, tensors)
    with atomic_write(path) as file:
        file.write(_in_order(to_bytes(tensors, metadata=header)))


def load(path: str | os.PathLike[str]) -> Detector:
    """Read a detector that `save` wrote; anything else is refused with a ModelFileError."""
    text, tensors = _read(Path(path))
    try:
        return _build(json.loads(text), tensors)
    except (KeyError, TypeError, IndexError, AttributeError, RuntimeError, ValueError) as error:
        raise ModelFileError(f"{path} is not complete ({error!r}). Save the detector again.") from error


def _in_order(content: bytes) -> bytes:
    """The same safetensors file with the names of its header sorted: else two saves of a model would differ."""
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
            if "maskdiff" not in header:
                raise ModelFileError(f"{path} is a safetensors file, but not one that maskdiff wrote.")
            if int(header.get("format", 0)) > FORMAT:
                raise ModelFileError(
                    f"{path} was written by maskdiff {header.get('version', '(unknown)')} in format "
                    f"{header['format']}; maskdiff {__version__} reads up to format {FORMAT}. Upgrade maskdiff."
                )
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{path} is not a maskdiff model file, or is damaged ({error}).") from error
    if _digest(header, tensors) != header.get("digest"):
        raise ModelFileError(f"{path} is damaged: its contents do not match their digest. Save the detector again.")
    return header["maskdiff"], tensors


def _digest(header: dict[str, str], tensors: dict[str, Tensor]) -> str:
    told = [header[name] for name in ("format", "version", "maskdiff") if name in header]
    digest = hashlib.sha256(" ".join(told).encode())
    for name in sorted(tensors):
        digest.update(f"{name} {tuple(tensors[name].shape)} {tensors[name].dtype}".encode())
        digest.update(tensors[name].contiguous().numpy().tobytes())
    return digest.hexdigest()


def _state(detector: Detector) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """A fitted detector as JSON and tensors."""
    if not hasattr(detector, "calibration_"):
        raise SettingError(f"{detector!r} has learned nothing yet: fit it before saving it.")
    reconstructor = detector.reconstructor_
    if type(reconstructor).__name__ not in _PARTS:
        raise SettingError(
            f"a detector with {reconstructor!r} cannot be saved: only maskdiff's own reconstructors can."
        )
    settings = {k: v for k, v in detector.get_params(deep=False).items() if k not in _LEFT_BEHIND}
    manifest = {
        "detector": type(detector).__name__,
        "settings": {name: _to_json(value) for name, value in settings.items()},
        "probes": _to_json(detector.probes_),
        "kinds": [_to_json(kind) for kind in detector.evidence_.kinds],
        "oddest": detector.evidence_.oddest,
        "sources": {},
        "encoder": detector.encoder_.to_state(),
    }
    tensors = {"calibration": torch.from_numpy(detector.calibration_.scores.copy())}
    for name, source in detector.evidence_.sources.items():
        manifest["sources"][name], parts = _take_source(source)
        tensors |= {f"{name}.{part}": tensor.detach().cpu().contiguous() for part, tensor in parts.items()}
    return manifest, tensors


def _build(manifest: dict[str, Any], tensors: dict[str, Tensor]) -> Detector:
    """The detector that `_state` took apart."""
    settings = {name: _from_json(value) for name, value in manifest["settings"].items()}
    kind, encoder = _DETECTORS[manifest["detector"]]
    detector: Detector = kind(**settings)
    detector.encoder_ = encoder.from_state(manifest["encoder"])
    detector.probes_ = _from_json(manifest["probes"])
    sources = {}
    for name, told in manifest["sources"].items():
        parts = {key.removeprefix(f"{name}."): t for key, t in tensors.items() if key.startswith(f"{name}.")}
        sources[name] = _put_source(told, parts, detector)
    kinds = tuple(_from_json(kind) for kind in manifest["kinds"])
    detector.evidence_ = Evidence(sources, kinds, manifest.get("oddest", False))
    detector.reconstructor_ = sources[MAIN].reconstructor
    detector.adopt_calibration(Calibration(tensors["calibration"].numpy()))
    return detector


def _take_source(source: Any) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """A source of evidence as JSON and tensors."""
    asked = getattr(source, _ASKED[type(source)])
    take_apart, _ = _PARTS[type(asked).__name__]
    return {"asks": _to_json(asked), "probes": _to_json(getattr(source, "probes", None))}, take_apart(asked)


def _put_source(told: dict[str, Any], parts: dict[str, Tensor], detector: Detector) -> Any:
    """The source that `_take_source` took apart."""
    bare, probes = _from_json(told["asks"]), _from_json(told["probes"])
    _, put_together = _PARTS[type(bare).__name__]
    whole = put_together(bare, parts, detector)
    if probes is None:
        return Meanings(whole) if isinstance(whole, NearestTexts) else Distances(whole)
    return MaskedSurprise(whole, probes, as_schedule(detector.schedule), detector.torch_device())


def _take_network(reconstructor: Any) -> dict[str, Tensor]:
    state: dict[str, Tensor] = reconstructor.network_.state_dict()
    return state


def _put_network(bare: Any, parts: dict[str, Tensor], detector: Detector) -> Any:
    network = bare.build(detector.encoder_.schema_)
    network.load_state_dict(parts)
    return bare.with_network(network.requires_grad_(False).to(detector.torch_device()))


def _take_reference(reconstructor: Any) -> dict[str, Tensor]:
    small = reconstructor.codes_NF.to(torch.int32)
    return {"codes": small.to(torch.uint8) if int(small.max()) < 256 else small, "counts": reconstructor.counts_N}


def _put_reference(bare: Any, parts: dict[str, Tensor], detector: Detector) -> Any:
    rows = parts["codes"].numpy().astype(np.int64)
    return bare.with_reference(rows, parts["counts"].numpy(), detector.encoder_.schema_, detector.torch_device())


def _take_model(reconstructor: Any) -> dict[str, Tensor]:
    weights: dict[str, Tensor] = reconstructor.weights()
    return weights


def _put_model(bare: Any, parts: dict[str, Tensor], detector: Any) -> Any:
    return bare.with_weights(detector.encoder_.schema_, parts, detector.torch_device())


def _take_texts(nearest: Any) -> dict[str, Tensor]:
    weights = {f"{_ENCODER}{name}": part for name, part in nearest.embedder.weights().items()}
    return {"directions": nearest.directions_HD, "normal": nearest.normal_ND, **weights}


def _put_texts(bare: Any, parts: dict[str, Tensor], detector: Detector) -> Any:
    device = detector.torch_device()
    weights = {name.removeprefix(_ENCODER): part for name, part in parts.items() if name.startswith(_ENCODER)}
    found = NearestTexts(bare.embedder.with_weights(weights, device), bare.k)
    return found.with_normal(parts["directions"].to(device), parts["normal"].to(device))


_ENCODER = "encoder."
# What a source of evidence asks.
_ASKED: dict[type, str] = {MaskedSurprise: "reconstructor", Distances: "neighbours", Meanings: "nearest"}

_DETECTORS: dict[str, tuple[Any, Any]] = {
    "TableDetector": (TableDetector, TableEncoder),
    "SequenceDetector": (SequenceDetector, SequenceEncoder),
    "TextDetector": (TextDetector, TextEncoder),
}

_PARTS: dict[str, tuple[Any, Any]] = {
    "MLPReconstructor": (_take_network, _put_network),
    "KernelReconstructor": (_take_reference, _put_reference),
    "NearestRows": (_take_reference, _put_reference),
    "TransformerReconstructor": (_take_network, _put_network),
    "PretrainedReconstructor": (_take_model, _put_model),
    "NearestTexts": (_take_texts, _put_texts),
}


def _to_json(value: Any) -> Any:
    """Plain values as they are; settings as {"is": class, field: value, ...}."""
    if is_dataclass(value) and type(value).__name__ in _BY_NAME:
        known = {f.name: _to_json(getattr(value, f.name)) for f in fields(value) if f.init}
        return {"is": type(value).__name__, **known}
    if isinstance(value, dict):
        return {"is": "dict", "items": [[_to_json(k), _to_json(v)] for k, v in value.items()]}
    if isinstance(value, tuple | list):
        return {"is": "tuple", "items": [_to_json(item) for item in value]}
    if isinstance(value, np.generic):  # a seed from numpy.arange, for one
        value = value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise SettingError(f"a detector with the setting {value!r} cannot be saved: use one of maskdiff's own.")


def _from_json(value: Any) -> Any:
    """The value `_to_json` wrote; only classes in the table above are ever made."""
    if not isinstance(value, dict):
        return value
    kind, rest = value["is"], {name: item for name, item in value.items() if name != "is"}
    if kind == "dict":
        return {_from_json(k): _from_json(v) for k, v in rest["items"]}
    if kind == "tuple":
        return tuple(_from_json(item) for item in rest["items"])
    return _BY_NAME[kind](**{name: _from_json(item) for name, item in rest.items()})
