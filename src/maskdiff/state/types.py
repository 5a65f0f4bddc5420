"""Whether a value is of the type its annotation names, and refusals in the words of a model file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from maskdiff.errors import ModelFileError

# Larger integers do not fit into the tensors and arrays they would end up in.
LARGEST_INTEGER = 1 << 62
LARGEST_FLOAT = 1e300

Found = TypeVar("Found")


def check(condition: Any, what: str) -> None:
    """Refuse a model file that does not keep this condition."""
    if not condition:
        raise ModelFileError(f"the model file cannot be used: {what}.")


def look_up(name: Any, known: Mapping[str, Found], what: str) -> Found:
    """The entry of a registry that a model file names."""
    check(isinstance(name, str) and name in known, f"it names the {what} {name!r}, but only {', '.join(known)} exist")
    return known[name]


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of the type an annotation names; numbers must be finite.

    >>> fits(3, int | None), fits(True, int), fits((0.1, 0.2), tuple[float, ...]), fits(float("nan"), float)
    (True, False, True, False)
    """
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, UnionType):
        return any(fits(value, one) for one in inner)
    if origin is Literal:
        return any(type(value) is type(one) and value == one for one in inner)
    if origin is tuple:
        return isinstance(value, tuple) and _all_fit(value, inner)
    if origin is not None and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(fits(k, inner[0]) and fits(v, inner[1]) for k, v in value.items())
    if origin is not None and origin is not os.PathLike and issubclass(origin, Sequence):
        return isinstance(value, Sequence) and all(fits(one, inner[0]) for one in value)
    return _is_a(value, NoneType if hint is None else origin or hint)


def _all_fit(values: tuple[Any, ...], hints: tuple[Any, ...]) -> bool:
    if len(hints) == 2 and hints[1] is ...:
        return all(fits(value, hints[0]) for value in values)
    return len(values) == len(hints) and all(map(fits, values, hints))


def _is_a(value: Any, cls: type) -> bool:
    if cls is int:
        return type(value) is int and abs(value) < LARGEST_INTEGER
    if cls is float:
        return type(value) in (int, float) and abs(value) < LARGEST_FLOAT  # neither NaN nor infinite
    return isinstance(value, cls)
