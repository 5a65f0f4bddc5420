"""Settings of a model in words, not as Python writes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from maskdiff.evidence import Source


def source_words(source: Source) -> tuple[str, str]:
    """What a source of evidence is, and its settings.

    >>> from maskdiff.evidence import NearestRows
    >>> source_words(NearestRows(k=25))
    ('the nearest normal rows', 'k 25')
    """
    holder = getattr(source, "reconstructor", source)
    described = source.describe().removesuffix(repr(holder)).rstrip(": ")
    return described, settings_text(holder)


def settings_text(holder: Any) -> str:
    """The settings of an object, those that are not set left out."""
    return ", ".join(_settings(holder)) if is_dataclass(holder) else ""


def _settings(holder: Any) -> Iterator[str]:
    for one in fields(holder):
        value = getattr(holder, one.name, None)
        if not one.init or not one.repr or value is None:
            continue
        name = one.name.removesuffix("_").replace("_", " ")
        if is_dataclass(value):
            label = name if type_words(value) == name else f"{name}: {type_words(value)}"
            yield f"{label} ({settings_text(value)})" if settings_text(value) else label
        elif isinstance(value, bool | str | int | float):
            yield f"{name} {value_text(value)}"


def value_text(value: bool | str | int | float) -> str:
    """
    >>> value_text(True), value_text(0.0), value_text(1000), value_text("mean")
    ('yes', '0', '1,000', 'mean')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else value


def type_words(value: Any) -> str:
    """The name of a class as words.

    >>> class HeldOutLoss: ...
    >>> type_words(HeldOutLoss())
    'held out loss'
    """
    name = type(value).__name__
    return "".join(f" {c.lower()}" if c.isupper() else c for c in name).strip()
