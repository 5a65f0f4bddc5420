"""Alarms that a person judged fine, as rules that keep them from coming back.

A rule names the odd cells of a dismissed row: those that carried its alarm (`explanations.odd_mask` says which). Rules
are looked at after the score, which they do not change: a row that scores above the threshold and that a rule is about
is no alarm. So alarms can only become fewer, and the promised false-alarm rate still holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from maskdiff.codes import Schema
from maskdiff.errors import SettingError
from maskdiff.state import check, from_plain, storable, to_plain

SAME_CELLS, SAME_PATTERN = "same cells", "same pattern"
SCOPES = (SAME_CELLS, SAME_PATTERN)
# What has to be the same in a cell: its value as it is shown, its code (a category, a bin), or its code and the note
# about it ("largest seen 99").
VALUE, CODE, NOTE = "value", "code", "note"


@storable
@dataclass(frozen=True)
class DismissedCell:
    """One odd cell of a dismissed row: its column, its code there, and the text that `compared` says is compared.

    A token has no code: it is compared by its text.
    """

    column: str
    text: str
    compared: str = VALUE
    code: int | None = None

    def __post_init__(self) -> None:
        if self.compared not in (VALUE, CODE, NOTE):
            raise SettingError(f"a cell is compared by its value, code or note; got {self.compared!r}.")

    def __str__(self) -> str:
        return f"{self.column} = {self.text}" if self.compared != NOTE else f"{self.column} beyond the {self.text}"


@storable
@dataclass(frozen=True)
class Dismissal:
    """A rule with its number, by which it is undone, its scope and the odd cells of the row it was made from."""

    number: int
    scope: str
    cells: tuple[DismissedCell, ...]

    def __post_init__(self) -> None:
        check_scope(self.scope)
        if self.number < 1 or not self.cells:
            raise SettingError(f"a rule has a number from 1 on, and cells; got {self}.")

    def __str__(self) -> str:
        """What it says, in words."""
        return f"{self.scope}: {', '.join(map(str, self.cells))}"

    def to_record(self) -> dict[str, Any]:
        """As a dict of plain values."""
        cells = [{"column": cell.column, cell.compared: cell.text} for cell in self.cells]
        return {"number": self.number, "scope": self.scope, "cells": cells}


@dataclass(frozen=True)
class Dismissals:
    """All rules of a detector; numbers are never given twice while a rule that came later is there."""

    rules: tuple[Dismissal, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.rules)

    def add(self, scope: str, cells: tuple[DismissedCell, ...]) -> tuple[Dismissals, Dismissal]:
        """The rules with one more, and that one; a rule that says the same is not made twice."""
        for rule in self.rules:
            if (rule.scope, set(rule.cells)) == (scope, set(cells)):
                return self, rule
        new = Dismissal(max((rule.number for rule in self.rules), default=0) + 1, scope, cells)
        return replace(self, rules=(*self.rules, new)), new

    def without(self, number: int) -> Dismissals:
        """The other rules."""
        left = tuple(rule for rule in self.rules if rule.number != number)
        if len(left) == len(self.rules):
            known = ", ".join(str(rule.number) for rule in self.rules) or "none"
            raise SettingError(f"there is no rule {number} to undo; the rules are: {known}.")
        return replace(self, rules=left)

    def to_state(self) -> list[Any]:
        """The rules as plain values."""
        return [to_plain(rule) for rule in self.rules]

    @classmethod
    def from_state(cls, plain: Any, schema: Schema, *, of_tokens: bool) -> Dismissals:
        """The rules that `to_state` described, checked against what the cells can hold."""
        check(isinstance(plain, list), "its rules are not a list")
        rules: Sequence[Dismissal] = [from_plain(rule, Dismissal) for rule in plain]
        numbers = [rule.number for rule in rules]
        check(numbers == sorted(set(numbers)), "its rules are not numbered in order")
        sizes = {field.name: field.size for field in schema}
        for cell in (cell for rule in rules for cell in rule.cells):
            check(cell.column in sizes, f"a rule names the column {cell.column!r}")
            fits = cell.code is None if of_tokens else cell.code is not None and 0 <= cell.code <= sizes[cell.column]
            check(fits, f"a rule has the code {cell.code} in {cell.column!r}")
        return cls(tuple(rules))


def check_scope(scope: str) -> None:
    """Refuse a scope there is not."""
    if scope not in SCOPES:
        raise SettingError(f"scope must be {' or '.join(map(repr, SCOPES))}; got {scope!r}.")
