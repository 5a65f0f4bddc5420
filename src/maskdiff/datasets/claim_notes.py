"""Notes for claims: a sentence or two about what broke, as somebody at a desk writes them, and odd ones to plant."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from maskdiff.errors import SettingError

_PARTS = ("opening", "when", "problem", "action", "closing")
_LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))


def claim_notes(issues: Sequence[str], rng: Generator) -> NDArray[Any]:
    """A note for each claim that fits its issue; some are short, some have their parts in another order.

    >>> claim_notes(["Flat Tyres"], np.random.default_rng(3)).tolist()
    ['Partner of the insured called yesterday evening, tyre is flat. car is still drivable, no further damage seen.']
    """
    return np.array([_note(issue, rng) for issue in issues], dtype=object)


def odd_notes(fault: str, issues: Sequence[str], rng: Generator) -> NDArray[Any]:
    """A note for each claim that is odd by this fault, one of `FAULTS`."""
    if fault not in FAULTS:
        raise SettingError(f"no fault of a note is called {fault!r}; choose one of {', '.join(FAULTS)}.")
    return np.array([FAULTS[fault](issue, rng) for issue in issues], dtype=object)


def _note(issue: str, rng: Generator) -> str:
    phrases = {part: _choice(_problems(issue) if part == "problem" else _catalog()[part], rng) for part in _PARTS}
    if rng.random() < 0.3:
        return f"{phrases['problem'].capitalize()}, {phrases['action']}."
    start = f"{phrases['opening']} {phrases['when']}, {phrases['problem']}."
    return f"{start} {phrases['action']}, {phrases['closing']}." if rng.random() < 0.8 else start


def _problems(issue: str) -> list[str]:
    found: list[str] = _catalog()["problem"][issue]
    return found


def _other_issue(issue: str, rng: Generator) -> str:
    return _note(_choice([other for other in _catalog()["problem"] if other != issue], rng), rng)


def _gibberish(issue: str, rng: Generator) -> str:
    return " ".join("".join(rng.choice(_LETTERS, rng.integers(3, 10))) for _ in range(rng.integers(4, 12)))


def _listed(fault: str) -> Callable[[str, Generator], str]:
    return lambda issue, rng: _choice(_catalog()["odd"][fault], rng)


FAULTS: dict[str, Callable[[str, Generator], str]] = {
    "contradiction": _other_issue,
    "gibberish": _gibberish,
    **{fault: _listed(fault) for fault in ("topic", "language", "boilerplate")},
}


def _choice(phrases: Sequence[str], rng: Generator) -> str:
    return phrases[int(rng.integers(len(phrases)))]


@cache
def _catalog() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("claim_notes.toml").read_text(encoding="utf-8"))
