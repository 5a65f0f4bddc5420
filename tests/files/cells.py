"""Values as people write them: numbers, dates and names by country and by program; always the same ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import numpy as np

N = 60
NARROW_SPACE, HARD_SPACE = "\u202f", "\u00a0"
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def amounts(first: float = 1234.56, n: int = N, *, seed: int = 0, scale: float = 1500.0) -> list[float]:
    """Amounts of money, two decimals, most of them different."""
    drawn = np.random.default_rng(seed).lognormal(sigma=1.2, size=n) * scale
    return [first, *drawn.round(2).tolist()[1:]]


def counts(first: int = 1234, n: int = N, *, seed: int = 0, most: int = 90_000) -> list[int]:
    return [first, *np.random.default_rng(seed).integers(0, most, n).tolist()[1:]]


def pick(choices: Sequence[str], n: int = N, *, seed: int = 0) -> list[str]:
    """Categories; the first cell is the first of them."""
    return [choices[0], *np.random.default_rng(seed).choice(np.array(choices, dtype=object), n).tolist()[1:]]


def moments(first: datetime = datetime(2024, 9, 25, 14, 30), n: int = N, *, seed: int = 0) -> list[datetime]:
    """Moments of about a year, to the minute."""
    minutes = np.random.default_rng(seed).integers(0, 365 * 24 * 60, n).tolist()
    return [first, *(datetime(2024, 1, 1) + timedelta(minutes=at) for at in minutes[1:])]


def dates(form: str, *, seed: int = 0) -> list[str]:
    """Dates written by this form of strftime."""
    return [at.strftime(form) for at in moments(seed=seed)]


def written(numbers: Sequence[float], form: Callable[[float], str]) -> list[str]:
    return [form(number) for number in numbers]


def grouped(number: float, group: str, decimal: str, places: int = 2) -> str:
    """
    >>> grouped(1234.5, ".", ",")
    '1.234,50'
    """
    return f"{number:,.{places}f}".translate(str.maketrans({",": group, ".": decimal}))


def us(number: float) -> str:
    return grouped(number, ",", ".")


def german(number: float) -> str:
    return grouped(number, ".", ",")


def french(number: float) -> str:
    return grouped(number, NARROW_SPACE, ",")


def swiss(number: float) -> str:
    return grouped(number, "'", ".")


def indian(number: float) -> str:
    """Lakhs and crores: the last three digits together, then two by two.

    >>> indian(1234567.5)
    '12,34,567.50'
    """
    whole, cents = f"{number:.2f}".split(".")
    head, tail = whole[:-3], whole[-3:]
    pairs = [head[max(0, at - 2) : at] for at in range(len(head), 0, -2)][::-1]
    return ",".join([*pairs, tail]) + "." + cents


def brackets(text: str, negative: bool) -> str:
    return f"({text})" if negative else text


def with_marks(texts: Sequence[str], marks: Sequence[str], every: int = 12) -> list[str]:
    """A mark in place of every so manieth cell, never of the first."""
    return [marks[at // every % len(marks)] if at % every == every - 1 else text for at, text in enumerate(texts)]
