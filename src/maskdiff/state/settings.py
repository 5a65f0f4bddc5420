"""Settings as plain JSON, and back: {"is": class, argument: value, ...}.

A settings class keeps its constructor's arguments as attributes of the same names, as dataclasses and scikit-learn's
estimators do. Only classes that were registered are ever made, each argument is checked against its annotation, and
the class itself refuses values out of range.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, get_type_hints

from maskdiff.errors import MaskdiffError, ModelFileError, SettingError
from maskdiff.state.types import check, fits, look_up

Class = TypeVar("Class", bound=type)
Registry = TypeVar("Registry", bound=Mapping[str, Any])

_ALONE: dict[str, type] = {}
_REGISTRIES: list[Mapping[str, Any]] = [_ALONE]


def storable(cls: Class) -> Class:
    """Let objects of this class be kept in model files."""
    _ALONE[cls.__name__] = cls
    return cls


def registry(classes: Registry) -> Registry:
    """Let objects of these classes be kept in model files, also of those that are added to the registry later."""
    _REGISTRIES.append(classes)
    return classes


def _known() -> dict[str, type]:
    found = (cls for classes in _REGISTRIES for cls in classes.values())
    return {cls.__name__: cls for cls in found if isinstance(cls, type)}


@cache
def _arguments(cls: type) -> dict[str, Any]:
    """The arguments of a class and their types."""
    if is_dataclass(cls):
        hints = get_type_hints(cls)
        return {field.name: hints[field.name] for field in fields(cls) if field.init}
    hints = get_type_hints(cls.__init__)  # type: ignore[misc]
    return {name: hints.get(name, Any) for name in list(inspect.signature(cls).parameters)}


def argument_names(cls: type) -> tuple[str, ...]:
    """The arguments of a class by name."""
    return tuple(_arguments(cls))


def arguments_to_plain(value: Any, *, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """The constructor's arguments of an object, as JSON can hold them."""
    cls: Any = type(value)
    return {name: to_plain(getattr(value, name)) for name in _arguments(cls) if name not in without}


def arguments_from_plain(cls: type, plain: Any, *, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """The checked arguments for a class."""
    hints = {name: hint for name, hint in _arguments(cls).items() if name not in without}
    check(isinstance(plain, dict), f"{cls.__name__} is described by {type(plain).__name__}")
    wrong = sorted(set(plain) ^ set(hints))
    check(not wrong, f"{cls.__name__} has other settings than the file names: {', '.join(wrong[:3])}")
    return {name: from_plain(plain[name], hint, f"{cls.__name__}.{name}") for name, hint in hints.items()}


def to_plain(value: Any) -> Any:
    """Plain values as they are, registered objects as {"is": class, argument: value, ...}."""
    if _known().get(type(value).__name__) is type(value):
        return {"is": type(value).__name__, **arguments_to_plain(value)}
    if isinstance(value, Mapping):
        return {"is": "dict", "entries": [[to_plain(k), to_plain(v)] for k, v in value.items()]}
    if isinstance(value, tuple | list):
        return {"is": "tuple", "entries": [to_plain(one) for one in value]}
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:  # a seed from numpy.arange, for one
        value = value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise SettingError(f"a detector with the setting {value!r} cannot be saved: use one of maskdiff's own.")


def from_plain(plain: Any, hint: Any = Any, what: str = "a setting") -> Any:
    """The value `to_plain` described, checked against a type."""
    value = _made(plain, what)
    check(fits(value, hint), f"{what} is {value!r}"[:200])
    return value


def _made(plain: Any, what: str) -> Any:
    if not isinstance(plain, dict):
        check(plain is None or isinstance(plain, str | bool | int | float), f"{what} is {plain!r}"[:200])
        return plain
    rest = {name: one for name, one in plain.items() if name != "is"}
    name = plain.get("is")
    if name in ("dict", "tuple"):
        entries: Any = rest.get("entries")
        check(isinstance(entries, list) and len(rest) == 1, f"{what} has no entries")
        return _dict_of(entries, what) if name == "dict" else tuple(_made(one, what) for one in entries)
    cls = look_up(name, _known(), "class")
    arguments = arguments_from_plain(cls, rest)
    try:
        return cls(**arguments)
    except MaskdiffError as error:
        raise ModelFileError(f"the model file cannot be used: {error}") from error


def _dict_of(entries: list[Any], what: str) -> dict[Any, Any]:
    check(all(isinstance(one, list) and len(one) == 2 for one in entries), f"{what} has entries that are no pairs")
    pairs = [(_made(key, what), _made(value, what)) for key, value in entries]
    check(all(isinstance(key, str | int | float | None) for key, _ in pairs), f"{what} has keys that cannot be used")
    return dict(pairs)
