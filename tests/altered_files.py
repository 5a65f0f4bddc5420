"""Model files with one thing changed and signed again, in as many ways as the file has places."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from maskdiff import storage

NAN, INFINITY = float("nan"), float("inf")
CLASSES = ("TableDetector", "TextDetector", "KernelReconstructor", "MLPReconstructor", "ProbeGrid", "Linear", "Steps")
SOURCES = ("masked_surprise", "nearest_rows", "nearest_texts", "text_columns")

Contents = tuple[Any, dict[str, Tensor]]
Alteration = tuple[str, Callable[[Any, dict[str, Tensor]], None]]


def read_contents(path: Path) -> Contents:
    """The manifest and the tensors of a model file."""
    with safe_open(path, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return json.loads(file.metadata()["maskdiff"]), tensors


def write_contents(path: Path, manifest: Any, tensors: dict[str, Tensor]) -> None:
    """A model file with these contents, rightly signed."""
    header = {"maskdiff": json.dumps(manifest), "format": str(storage.FORMAT), "version": "0.1.0"}
    tensors = {name: tensor.contiguous() for name, tensor in tensors.items()}
    save_file(tensors, path, metadata=header | {"digest": storage._digest(header, tensors)})


def alterations(manifest: Any, tensors: dict[str, Tensor]) -> list[Alteration]:
    """Every way to change one thing: what it is called, and what does it."""
    return [*_of_manifest(manifest), *_of_tensors(tensors)]


def altered(contents: Contents, alteration: Alteration) -> Contents:
    manifest, tensors = copy.deepcopy(contents[0]), dict(contents[1])
    alteration[1](manifest, tensors)
    return manifest, tensors


# JSON ----------------------------------------------------------------------------------------------------------------


def _of_manifest(manifest: Any) -> Iterator[Alteration]:
    for place, value in _places(manifest, ()):
        named = ".".join(map(str, place))
        for other in _others(value):
            yield f"{named} = {other!r}"[:150], _putting(place, other)
        if place and isinstance(place[-1], str):
            yield f"{named} removed", _removing(place)
        if isinstance(value, dict):
            yield f"{named}.extra = 1", _putting((*place, "extra"), 1)


def _places(value: Any, place: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every value of a nested JSON value, with where it stands; texts that hold JSON are looked into."""
    if place:
        yield place, value
    inner = _as_json(value)
    if isinstance(inner, dict):
        for name in _few(list(inner), most=40):  # more are a vocabulary
            yield from _places(inner[name], (*place, name))
    elif isinstance(inner, list):
        for at in _few(list(range(len(inner))), most=4):
            yield from _places(inner[at], (*place, at))


def _few(names: list[Any], most: int) -> list[Any]:
    """All names, or of many the first and the last two."""
    return names if len(names) <= most else [*names[:2], *names[-2:]]


def _as_json(value: Any) -> Any:
    looks = isinstance(value, str) and value.startswith("{") and len(value) < 5000
    return json.loads(value) if looks else value


def _others(value: Any) -> list[Any]:
    """Other values of its type, at the edges and beyond, and values of other types."""
    strange: list[Any] = [None, True, -1, 0, "nonsense", [], {}, 0.5]
    if isinstance(value, bool):
        strange += [not value]
    elif isinstance(value, int):
        strange += [1, value + 1, value - 1, 2**31, 10**12, 2**63, 10**400, NAN]
    elif isinstance(value, float):
        strange += [-value, 1e-320, 1e308, -1e308, 10**400, NAN, INFINITY]
    elif isinstance(value, str):
        strange += ["", "\x00", value + "x", *(CLASSES if value in CLASSES else ()), *(SOURCES * (value in SOURCES))]
    elif isinstance(value, list):
        strange += [value[:-1], value + value[-1:], value[::-1], [value]]
    elif isinstance(value, dict):
        strange += [[value]]
    return [other for other in strange if type(other) is not type(value) or other != value]


def _putting(place: tuple[Any, ...], value: Any) -> Callable[..., None]:
    return lambda manifest, tensors: _change(manifest, place, lambda inner: inner.__setitem__(place[-1], value))


def _removing(place: tuple[Any, ...]) -> Callable[..., None]:
    return lambda manifest, tensors: _change(manifest, place, lambda inner: inner.pop(place[-1]))


def _change(value: Any, place: tuple[Any, ...], change: Callable[[Any], Any]) -> None:
    """Change what is in a place, also where that is in a text that holds JSON."""
    for at, name in enumerate(place[:-1]):
        if isinstance(value[name], str):
            inner = json.loads(value[name])
            if at == len(place) - 2:
                change(inner)
            else:
                _change(inner, place[at + 1 :], change)
            value[name] = json.dumps(inner)
            return
        value = value[name]
    change(value)


# Tensors -------------------------------------------------------------------------------------------------------------


def _of_tensors(tensors: dict[str, Tensor]) -> Iterator[Alteration]:
    for name, tensor in tensors.items():
        for how, other in _other_tensors(tensor).items():
            yield f"{name} {how}", _setting(name, other)
        yield f"{name} removed", lambda manifest, all_, name=name: all_.pop(name)
        yield f"{name} renamed", lambda manifest, all_, name=name: all_.update({f"{name}x": all_.pop(name)})
    yield "extra tensor", _setting("extra", torch.zeros(3))
    yield "extra tensor of a source", _setting("evidence.reconstructor.extra", torch.zeros(3))


def _other_tensors(tensor: Tensor) -> dict[str, Tensor]:
    found = {
        "empty": tensor[:0] if tensor.ndim else tensor.reshape(1)[:0],
        "flat": tensor.reshape(-1),
        "with one dimension more": tensor[None],
        "as float64": tensor.double(),
        "as float16": tensor.half(),
        "as int64": tensor.nan_to_num().long(),
        "as bool": tensor.bool(),
        "all 0": torch.zeros_like(tensor),
    }
    if tensor.ndim:
        found |= {
            "without the last": tensor[:-1],
            "with the last twice": torch.cat([tensor, tensor[-1:]]),
            "backwards": tensor.flip(0),
            "transposed": tensor.transpose(0, -1).clone(),
        }
    numbers = (-1, 255) if tensor.dtype == torch.uint8 else (-1, 0, 2**31 - 1)
    if tensor.dtype == torch.int64:
        numbers = (-1, 0, 2**40, 2**62)
    if tensor.is_floating_point():
        numbers = (NAN, INFINITY, -INFINITY, 1e30, -1e30, 0.0)
    for number in numbers if tensor.numel() and tensor.dtype != torch.bool else ():
        for where in (0, -1):
            other = tensor.clone()
            other.view(-1)[where] = number % 256 if tensor.dtype == torch.uint8 else number
            found[f"[{where}] = {number}"] = other
        found[f"all {number}"] = torch.full_like(tensor, number % 256 if tensor.dtype == torch.uint8 else number)
    return {how: other for how, other in found.items() if not _same(other, tensor)}


def _same(one: Tensor, other: Tensor) -> bool:
    return one.dtype == other.dtype and one.shape == other.shape and torch.equal(one, other)


def _setting(name: str, tensor: Tensor) -> Callable[..., None]:
    return lambda manifest, tensors: tensors.__setitem__(name, tensor)
