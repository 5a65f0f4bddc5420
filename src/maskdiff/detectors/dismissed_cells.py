"""Which cells a rule is made from, and which rows a rule is about. N rows, F fields.

Sums differ in their last digits between machines, so a cell near the border of being odd is in doubt: it is named by
a rule, and it does not keep a rule from being about a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import BoolArray, Codes, FloatArray
from maskdiff.detectors.dismissals import CODE, NOTE, SAME_CELLS, VALUE, Dismissal, DismissedCell
from maskdiff.encoders.table.cells import parse_number
from maskdiff.encoders.tokens.tokenized import TokenWindows
from maskdiff.explanations.odd_mask import ODD_FRACTION, odd_mask, odd_token_mask
from maskdiff.explanations.token_groups import TokenGroups

_DOUBT = 0.01
SURELY_ODD, PERHAPS_ODD = ODD_FRACTION + _DOUBT, ODD_FRACTION - _DOUBT


class ColumnCells:
    """The cells of N rows of a table, X, as a fitted encoder reads them.

    `beyond` (N, F) is how much odder than it takes each cell is to raise an alarm by itself; None: no cell can.
    """

    def __init__(
        self, X: Any, codes: Codes, contributions: FloatArray, encoder: Any, beyond: FloatArray | None = None
    ) -> None:
        self.X, self.codes, self.contributions, self.encoder, self.beyond = X, codes, contributions, encoder, beyond

    def _odd(self, rows: NDArray[np.int64] | slice, *, surely: bool) -> BoolArray:
        """Which cells of these rows carry an alarm: with much of the score, with a new value, or by themselves."""
        fraction = SURELY_ODD if surely else PERHAPS_ODD
        odd = odd_mask(self.contributions[rows], self.codes.is_new[rows], fraction)
        return odd if self.beyond is None else odd | (self.beyond[rows] > (_DOUBT if surely else -_DOUBT))

    def odd(self, scope: str) -> list[tuple[DismissedCell, ...]]:
        """The cells of each row that a rule names, the strongest first."""
        row, field = np.nonzero(self._odd(slice(None), surely=False))
        order = np.lexsort((-self.contributions[row, field], row))
        row, field = row[order], field[order]
        values, notes = (texts(self.X, row, field) for texts in (self.encoder.display, self.encoder.notes))
        of_rows: list[list[DismissedCell]] = [[] for _ in self.codes.values]
        for i, j, value, note in zip(row.tolist(), field.tolist(), values, notes, strict=True):
            of_rows[i].append(self._cell(scope, j, int(self.codes.values[i, j]), value, note))
        return [tuple(cells) for cells in of_rows]

    def _cell(self, scope: str, at: int, code: int, value: str, note: str) -> DismissedCell:
        field = self.codes.schema.fields[at]
        if scope == SAME_CELLS or not field.ordered:
            return DismissedCell(field.name, value, VALUE, code)
        if code < field.size:
            return DismissedCell(field.name, field.label(code), CODE, code)
        return DismissedCell(field.name, note or value, NOTE if note else VALUE, code)

    def fits(self, rule: Dismissal) -> BoolArray:
        """Which rows the rule is about, shape (N,).

        Their cells in the rule's columns are those of the rule, and no cell of another column is odd. For "same cells"
        those of the rule are odd here too.
        """
        at = [self.codes.schema.names.index(cell.column) for cell in rule.cells]
        wanted = np.array([cell.code for cell in rule.cells])
        rows = np.flatnonzero((self.codes.values[:, at] == wanted).all(axis=1))
        others = self._odd(rows, surely=True)
        others[:, at] = False
        fit = ~others.any(axis=1)
        if rule.scope == SAME_CELLS:
            fit &= self._odd(rows, surely=False)[:, at].all(axis=1)
        rows = rows[fit]
        for j, cell in zip(at, rule.cells, strict=True):
            if cell.compared != CODE and len(rows):
                texts_of = self.encoder.notes if cell.compared == NOTE else self.encoder.display
                rows = rows[_same(texts_of(self.X, rows, [j] * len(rows)), cell.text)]
        return _chosen(rows, len(self.codes))


class TokenCells:
    """The tokens of N rows, each by its text; the pieces of a new word are one."""

    def __init__(self, codes: TokenWindows, contributions: FloatArray) -> None:
        groups = TokenGroups.of(codes)
        line, cell = np.nonzero(codes.counts & groups.is_first)
        row, added = codes.row[line], groups.combine(contributions)[line, cell]
        named = odd_token_mask(row, added, fraction=PERHAPS_ODD)
        self.n_rows, self.column, self.row = codes.n_rows, codes.schema.fields[0].name, row[named]
        self.surely_odd = odd_token_mask(row, added, fraction=SURELY_ODD)[named]
        self.added = added[named]
        spans = groups.spans(codes, line[named], cell[named])
        self.texts = np.array(codes.tokens.slices(self.row, spans), dtype=object)

    def odd(self, scope: str) -> list[tuple[DismissedCell, ...]]:
        """The tokens of each row that a rule names, the strongest first and each once."""
        of_rows: list[dict[DismissedCell, None]] = [{} for _ in range(self.n_rows)]
        for i in np.lexsort((-self.added, self.row)).tolist():
            of_rows[self.row[i]][DismissedCell(self.column, self.texts[i])] = None
        return [tuple(cells) for cells in of_rows]

    def fits(self, rule: Dismissal) -> BoolArray:
        """Which rows the rule is about, shape (N,): all their odd tokens are the rule's.

        For "same cells" all of the rule's are odd there, wherever they stand.
        """
        texts = {cell.text for cell in rule.cells}
        named = np.array([text in texts for text in self.texts], dtype=np.bool_)
        fit = _chosen(self.row[named], self.n_rows) & ~_chosen(self.row[~named & self.surely_odd], self.n_rows)
        if rule.scope == SAME_CELLS:
            for text in texts:
                fit &= _chosen(self.row[self.texts == text], self.n_rows)
        return fit


def _chosen(rows: NDArray[np.int64], n: int) -> BoolArray:
    chosen = np.zeros(n, dtype=np.bool_)
    chosen[rows] = True
    return chosen


def _same(texts: Sequence[str], wanted: str) -> BoolArray:
    """Which texts stand for the same value: 7 and 7.0 do."""
    number = parse_number(wanted)
    return np.array(
        [text == wanted or (number is not None and parse_number(text) == number) for text in texts], dtype=np.bool_
    )
