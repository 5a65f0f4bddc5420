"""Reading ARFF files whose attributes are all nominal: a header of declarations, then comma-separated rows.

The header is read line by line; the rows go to pyarrow's CSV reader as a stream, so that a table of half a million
rows, packed or not, is read in seconds. Each value is checked against the declaration once per distinct value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from maskdiff.errors import BadLineError, EmptyTableError, InputError

if TYPE_CHECKING:
    import pandas as pd

_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|[^\s{{]+)\s*(.*)", re.IGNORECASE)
_NOMINAL = re.compile(rf"""\{{((?:{_QUOTED}|[^}}'"])*)\}}\s*(?:%.*)?$""")
_VALUE = re.compile(rf"{_QUOTED}|[^,\s][^,]*")
# Stands for a missing value; no value can be spelt like it, since a line break ends a row.
_MISSING = "\n"


class Attribute(NamedTuple):
    """A nominal attribute: its name and the values it may take, in the order declared."""

    name: str
    values: tuple[str, ...]


def read_arff(path: Path) -> pd.DataFrame:
    """The table in an `.arff` file, or in the one inside a `.tar.xz`: categorical columns, `?` is missing."""
    import pandas as pd

    with _opened(path) as stream:
        attributes, quote = _read_header(stream, path)
        table = _read_rows(stream, len(attributes), quote, path)
    if table.num_rows == 0:
        raise EmptyTableError(f"{path} has no rows after its @data line; was it cut short?")
    columns = {a.name: _categorical(a, table.column(i), path) for i, a in enumerate(attributes)}
    return pd.DataFrame(columns, copy=False)


def parse_attribute(line: str) -> Attribute:
    """What one `@attribute` line declares.

    >>> parse_attribute("@attribute 'marital status'{married, 'not married'} % a comment")
    Attribute(name='marital status', values=('married', 'not married'))
    """
    declared = _ATTRIBUTE.match(line)
    nominal = _NOMINAL.match(declared[2]) if declared else None
    if declared is None or nominal is None:
        raise BadLineError(f"expected '@attribute NAME {{value, value, ...}}' (only nominal attributes), got {line!r}")
    return Attribute(_unquote(declared[1]), tuple(_unquote(value) for value in _VALUE.findall(nominal[1])))


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    if path.suffix != ".xz":
        with path.open("rb") as stream:
            yield stream
        return
    import lzma
    import tarfile

    try:
        with tarfile.open(path, "r:xz") as archive:
            member = next((m for m in archive if m.name.endswith(".arff")), None)
            packed = archive.extractfile(member) if member else None
            if packed is None:
                raise InputError(f"{path} holds no .arff file")
            yield packed
    except (tarfile.TarError, lzma.LZMAError, EOFError) as error:
        raise InputError(f"{path} cannot be unpacked ({error}); fetch it again") from error


def _read_header(stream: IO[bytes], path: Path) -> tuple[list[Attribute], str]:
    """Every attribute up to `@data`, and the quote their values are written with."""
    attributes: dict[str, Attribute] = {}
    quote = "'"
    for number, raw in enumerate(stream, start=1):
        line = _decode(raw).strip()
        if line.lower() == "@data" and attributes:
            return list(attributes.values()), quote
        if not line.lower().startswith("@attribute"):
            continue
        try:
            attribute = parse_attribute(line)
        except BadLineError as error:
            raise BadLineError(f"{path}, line {number}: {error}") from None
        if attribute.name in attributes:
            raise BadLineError(f"{path}, line {number}: attribute {attribute.name!r} is declared twice")
        attributes[attribute.name] = attribute
        quote = '"' if re.search(r'[{,]\s*"', line) else quote
    raise BadLineError(f"{path} has no @attribute line followed by a @data line: not an ARFF file, or cut short")


def _read_rows(stream: IO[bytes], n_columns: int, quote: str, path: Path) -> Any:
    """The rows as an Arrow table of dictionary-encoded text."""
    import pyarrow as pa
    import pyarrow.csv as csv

    names = [str(i) for i in range(n_columns)]
    text = pa.dictionary(pa.int32(), pa.string())
    try:
        return csv.read_csv(
            stream,
            csv.ReadOptions(column_names=names, block_size=1 << 22),
            csv.ParseOptions(quote_char=quote, escape_char="\\", invalid_row_handler=_skip_comment),
            csv.ConvertOptions(
                column_types=dict.fromkeys(names, text),
                null_values=["?"],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        ).unify_dictionaries()
    except pa.ArrowInvalid as error:
        raise BadLineError(f"{path}: {error}") from error


def _skip_comment(row: Any) -> str:
    return "skip" if row.text.lstrip().startswith("%") else "error"


def _categorical(attribute: Attribute, column: Any, path: Path) -> pd.Categorical[str]:
    """An Arrow column with its codes turned into those of the declaration."""
    import pandas as pd

    entries: list[str] = column.chunk(0).dictionary.to_pylist()
    place = {value: i for i, value in enumerate(attribute.values)} | {_MISSING: -1}
    found = [entry if entry in place else _tidy(entry) for entry in entries]
    strange = [value for value in found if value not in place]
    if strange:
        raise BadLineError(f"{path}: attribute {attribute.name!r} was not declared to take the value {strange[0]!r}")
    # The extra last entry is where code -1, a missing value, lands.
    codes_of = np.array([*(place[value] for value in found), -1], dtype=np.int32)
    codes = np.concatenate([codes_of[chunk.indices.fill_null(-1).to_numpy()] for chunk in column.chunks])
    return pd.Categorical.from_codes(codes, categories=pd.Index(attribute.values, dtype="str"))


def _tidy(entry: str) -> str:
    """A value as it was meant: blanks around it and quotes the CSV reader left on it are not part of it."""
    text = entry.strip()
    return _MISSING if text == "?" else _unquote(text)


def _unquote(text: str) -> str:
    text = text.strip()
    if text[:1] not in ("'", '"'):
        return text
    return re.sub(r"\\(.)", r"\1", text[1:-1])


def _decode(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")
