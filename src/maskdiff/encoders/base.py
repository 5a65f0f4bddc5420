"""What all encoders have in common, so that doors need not ask what kind of rows a detector reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import ArrayLike

from maskdiff.codes import Codes, FloatArray, IntArray, Schema
from maskdiff.codes.schema_change import SchemaChange

# What an unseen cell holds: nothing where it cannot be read at all, else one value, None for a missing one.
UnseenValue = tuple[()] | tuple[Any]


@dataclass(frozen=True, eq=False)
class Extension:
    """What an encoder learned from more normal rows: where its codes are now, and by field what is new.

    `new_values` are the values that got codes, as texts, and `widened` the fields whose numbers reach further.
    """

    change: SchemaChange
    new_values: Mapping[str, tuple[str, ...]]
    widened: tuple[str, ...] = ()


class Encoder(Protocol):
    """Reads rows as codes. `parts` is what a row is made of: columns, symbols or tokens.

    `places` are the columns of an explanation, behind `column`, that say where such a part is; `named_` is whether
    the rows came with names of columns, `feature_names_in_` which.
    """

    parts: str
    places: tuple[str, ...]
    schema_: Schema
    named_: bool
    feature_names_in_: Any

    def fit(self, X: Any, y: Any = None) -> Any:
        """Learn from normal rows."""

    def read(self, X: Any) -> Any:
        """The rows of X, with `n_rows` and `take(rows)`; not looked at yet."""

    def encode(self, X: Any) -> Codes:
        """The codes of any rows."""

    def extended(self, X: Any) -> tuple[Any, Extension]:
        """A copy that learned from these normal rows too, and what it learned."""

    def unseen_values(self, X: Any, codes: Codes) -> list[UnseenValue]:
        """What the cells hold that have the code *unseen*, row after row."""

    def codes_of(self, fields: IntArray, values: Sequence[UnseenValue]) -> tuple[IntArray, FloatArray]:
        """The codes of these values in these fields, and what they cost more for being beyond the range, each (n,)."""

    def display(self, X: Any, rows: ArrayLike, fields: Any) -> list[str]:
        """The values at these places, one for each pair of a row and a field or position."""

    def summary(self) -> list[dict[str, Any]]:
        """How each column was read: name, type, codes, missing, left_out."""

    def to_state(self) -> dict[str, Any]:
        """Everything that was set and learned, as plain texts, numbers, lists and dicts."""
