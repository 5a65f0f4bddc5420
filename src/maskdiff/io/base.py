"""What a file format is: what its files are called, and who reads and writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol

import pyarrow as pa

from maskdiff.errors import InputError
from maskdiff.io.rows import ReadOptions, RowFile
from maskdiff.io.streams import ByteSource


@dataclass(frozen=True)
class WriteOptions:
    """How a file is to be written; None: as its name says."""

    format: str | None = None
    delimiter: str | None = None
    safe_for_spreadsheets: bool = False


class Writer(Protocol):
    """Writes batches of one schema, one behind the other."""

    def write(self, batch: pa.RecordBatch) -> Any:
        """The rows of this batch."""

    def close(self) -> Any:
        """All rows were written."""


@dataclass(frozen=True)
class Format:
    """One format. `write` is given the open file, the schema, the options and the name of the file.

    `streams`: one pass over the bytes is enough; `gzips`: files may be packed by gzip; `repeats_names`: two columns
    may have one name; `formulas`: a spreadsheet may run what stands in the cells. A format without `write` is only
    read. `addresses` are the schemes of addresses that are of this format, "*" for any that no other format has.
    """

    endings: tuple[str, ...]
    read: Callable[[ByteSource, ReadOptions], RowFile]
    write: Callable[[BinaryIO, pa.Schema, WriteOptions, str], Writer] | None = None
    streams: bool = False
    gzips: bool = False
    repeats_names: bool = False
    formulas: bool = False
    addresses: tuple[str, ...] = ()


@contextmanager
def refusing_damage(name: str, what: str) -> Iterator[None]:
    """Whatever arrow cannot read is said to be no such file."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        line = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(f"{name} is not {what}, or is damaged ({line}).") from error
