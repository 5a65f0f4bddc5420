"""What all encoders have in common, so that doors need not ask what kind of rows a detector reads."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import ArrayLike

from maskdiff.codes import Codes, Schema


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

    def display(self, X: Any, rows: ArrayLike, fields: Any) -> list[str]:
        """The values at these places, one for each pair of a row and a field or position."""

    def summary(self) -> list[dict[str, Any]]:
        """How each column was read: name, type, codes, missing, left_out."""

    def to_state(self) -> dict[str, Any]:
        """Everything that was set and learned, as plain texts, numbers, lists and dicts."""
