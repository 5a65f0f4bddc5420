"""Case: one file as people have it, and what each of its columns has to be read as."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LITERAL = Path(__file__).parent / "literal"
LEFT_OUT = "left out"


@dataclass(frozen=True)
class Expected:
    """What a column is read as, and the value that its first cell becomes; `LEFT_OUT`: not learned from."""

    type: str
    first: Any = None


@dataclass(frozen=True)
class Cells:
    """The cells of a column as texts, as they stand in the file, and what is expected of them."""

    texts: Sequence[str]
    type: str
    first: Any = None

    @property
    def expected(self) -> Expected:
        return Expected(self.type, self.first)


@dataclass(frozen=True)
class Case:
    """A file. `columns` by name; `content` is what stands in the file where the texts alone do not show it.

    What is more than a file, `make` writes into a folder, and says how it is called; `piped`: it comes on standard
    input. `reading` are settings of `ReadOptions`, `missing` texts that mean a missing value here, `notice`
    is a part of the notice that has to be given.
    """

    name: str
    columns: Mapping[str, Cells | Expected]
    content: bytes | None = None
    ending: str = ".csv"
    make: Callable[[Path], str] | None = None
    piped: bool = False
    delimiter: str = ","
    rows: int | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    notice: str | None = None

    @property
    def expected(self) -> dict[str, Expected]:
        return {name: one.expected if isinstance(one, Cells) else one for name, one in self.columns.items()}

    @property
    def texts(self) -> dict[str, list[str]]:
        """The cells of all columns as texts; none where the file is given as it stands."""
        return {name: list(one.texts) for name, one in self.columns.items() if isinstance(one, Cells)}

    @property
    def n_rows(self) -> int:
        return self.rows if self.rows is not None else len(next(iter(self.texts.values())))

    def write(self, folder: Path) -> str:
        """Put it into a folder; the input to be read."""
        if self.make is not None:
            return self.make(folder)
        path = folder / f"{self.name}{self.ending}"
        path.write_bytes(self.content if self.content is not None else delimited(self.texts, self.delimiter).encode())
        return str(path)


def delimited(texts: Mapping[str, Sequence[str]], delimiter: str = ",", line_end: str = "\n") -> str:
    """These columns as a CSV file; a cell is quoted where it has to be."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator=line_end)
    writer.writerow(texts)
    writer.writerows(zip(*texts.values(), strict=True))
    return out.getvalue()


def literal(name: str) -> bytes:
    """A file that was written by hand."""
    return (LITERAL / name).read_bytes()
