"""A first line that does not fit: it has another number of cells than all lines below, which are not to blame."""

from __future__ import annotations

from dataclasses import dataclass

from maskdiff.errors import BadLineError
from maskdiff.io.header import usual_width

# One line below may as well be the one that is wrong.
_FEWEST_ALIKE = 2


@dataclass(frozen=True)
class OddFirstLine:
    """The number of the first line, how many cells it has, and how many each line below has."""

    line: int
    cells: int
    below: int

    def error(self, name: str) -> BadLineError:
        """The error about it. To leave out lines of another width would leave out every row."""
        return BadLineError(
            f"{name}: the first line does not fit: line {self.line} has {_cells(self.cells)}, the next lines have "
            f"{self.below} each. Remove it, or replace it by a line with the names of the {self.below} columns."
        )


def odd_first_line(records: list[tuple[int, list[str]]]) -> OddFirstLine | None:
    """The first of these rows of cells, each with its line, where nearly all others are alike and have another width.

    >>> odd_first_line([(1, ["569", "30"]), (2, ["1", "5", "A"]), (3, ["2", "7", "B"])])
    OddFirstLine(line=1, cells=2, below=3)
    """
    (line, first), below = records[0], [cells for _, cells in records[1:]]
    usual = usual_width(below) if len(below) >= _FEWEST_ALIKE else None
    return None if usual is None or usual == len(first) else OddFirstLine(line, len(first), usual)


def _cells(number: int) -> str:
    return "1 cell" if number == 1 else f"{number} cells"
