"""Field and Schema: what the codes of a row stand for.

A row becomes one small integer per field. Field j has the codes 0 .. size-1, all of them seen in the normal rows;
the code `size` means *unseen*. A missing value is an ordinary code where the normal rows had missing values, and
unseen where they had none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.integer[Any]]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# A larger share is that of most.
_MOST = 0.5


@dataclass(frozen=True)
class Field:
    """One column or token position: what its codes stand for, and how often normal rows held them.

    `type` is the name of the column's type ("category", "number", "date", ...), or "token". `singletons` counts the
    raw values seen exactly once, before rare values were folded together. `ordered` says that the codes follow the
    order of what they stand for, as bins do, so that some codes are further apart than others. `n_marks` counts texts
    that stand among numbers ("unknown"); their codes follow those in order. `middles` are the numbers in the middle of
    the bins, where these are known.
    """

    name: str
    type: str
    labels: tuple[str, ...]
    counts: tuple[int, ...]
    singletons: int = 0
    ordered: bool = False
    n_marks: int = 0
    middles: tuple[float, ...] = ()

    @property
    def size(self) -> int:
        return len(self.labels)

    @property
    def unseen_mass(self) -> float:
        """Good-Turing: the probability that the next value is one never seen before.

        >>> Field("colour", "category", ("red", "blue"), (3, 1), singletons=1).unseen_mass
        0.25
        """
        total = sum(self.counts)
        return max(self.singletons, total / (total + 1)) / total

    @property
    def unseen_charge(self) -> float:
        """Least surprise of an unseen value, in nats: never below that of the rarest value seen."""
        return -float(np.log(min(self.unseen_mass, min(self.counts) / sum(self.counts))))

    @property
    def rare(self) -> int:
        """The code that many rare values share; -1 where each value has one of its own."""
        behind = self.labels[-2 - self.n_marks :]
        return self.size - len(behind) + behind.index("rare") if "rare" in behind else -1

    @property
    def n_ordered(self) -> int:
        """How many codes, from the first on, are in order: all but marks, *rare* and *missing*; 0 for categories."""
        apart = len({"rare", "missing"} & {*self.labels[-2 - self.n_marks :]}) + self.n_marks
        return self.size - apart if self.ordered else 0

    def label(self, code: int) -> str:
        return self.labels[code] if code < self.size else "unseen"


@dataclass(frozen=True)
class Schema:
    """The fields of a row, in order."""

    fields: tuple[Field, ...]

    def __len__(self) -> int:
        return len(self.fields)

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    @property
    def names(self) -> list[str]:
        return [f.name for f in self.fields]

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many codes each field has, shape (F,)."""
        return np.array([f.size for f in self.fields], dtype=np.int64)

    @cached_property
    def unseen_charge(self) -> FloatArray:
        """Least surprise of an unseen value of each field, shape (F,)."""
        return np.array([f.unseen_charge for f in self.fields])

    @cached_property
    def news_is_usual(self) -> BoolArray:
        """In which fields most new rows hold a value never seen, as names and addresses are, shape (F,)."""
        return np.array([f.unseen_mass > _MOST for f in self.fields], np.bool_)

    def shares_of(self, codes: IntArray) -> FloatArray:
        """Which share of the normal rows holds each of these codes, (N, F); half a row for -1, a value never seen.

        >>> Schema((Field("pet", "category", ("cat", "dog"), (3, 1)),)).shares_of(np.array([[0], [1], [-1]]))[:, 0]
        array([0.75 , 0.25 , 0.125])
        """
        shares = np.empty(codes.shape)
        for at, field in enumerate(self.fields):
            shares[:, at] = np.array([*field.counts, 0.5])[codes[:, at]] / sum(field.counts)
        return shares

    @cached_property
    def two_rarest(self) -> NDArray[np.int64]:
        """The codes of each field with the fewest normal rows, shape (2, F); the same twice where there is only one."""
        ranked = (np.argsort(f.counts, kind="stable") for f in self.fields)
        return np.array([[codes[0], codes[min(1, len(codes) - 1)]] for codes in ranked], dtype=np.int64).T

    def rarest(self, other_than: IntArray) -> NDArray[np.int64]:
        """For each cell the code of its field with the fewest normal rows, other than the one it holds, (N, F)."""
        first, second = self.two_rarest
        rarest: NDArray[np.int64] = np.where(other_than == first, second, first)
        return rarest

    @cached_property
    def code_dtype(self) -> np.dtype[Any]:
        """The smallest integers that hold every code, unseen included."""
        return np.min_scalar_type(int(self.sizes.max(initial=0)))

    @cached_property
    def compact_sizes(self) -> IntArray:
        """The sizes in these integers: to compare codes with wider ones, all of them would be widened first."""
        return self.sizes.astype(self.code_dtype)
