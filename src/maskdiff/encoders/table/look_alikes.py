"""Categories that differ from a known one only in case or blanks: still odd, but said so."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any


def look_alikes(known: Sequence[str]) -> dict[str, str]:
    """Each known text by what is left of it without case and blanks that do not matter; the first of several."""
    return {bare(text): text for text in reversed(known)}


def alike_notes(texts: Sequence[str], known: Container[Any], alike: Mapping[str, str]) -> list[str]:
    """For each text that is not known, but like one that is, the words for that; for all others nothing.

    >>> alike_notes([" north", "North", "South"], {"North"}, look_alikes(["North"]))
    ['differs from North only in case or blanks', '', '']
    """
    found = [None if text in known else alike.get(bare(text)) for text in texts]
    return ["" if text is None else f"differs from {text} only in case or blanks" for text in found]


def bare(text: str) -> str:
    """A text without case, without blanks around it, and with single blanks in it.

    >>> bare("  New   York ") == bare("NEW YORK")
    True
    """
    return " ".join(text.casefold().split())
