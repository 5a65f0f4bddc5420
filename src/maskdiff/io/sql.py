"""Tables and queries of any database that SQLAlchemy knows, by its address, or of a SQLite file. Nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from maskdiff.errors import InputError, MissingExtraError, SettingError
from maskdiff.io.base import Format
from maskdiff.io.cell_rows import CellRows
from maskdiff.io.rows import ReadOptions
from maskdiff.io.streams import ByteSource

_SQLITE = "sqlite"


class SqlRows(CellRows):
    """The rows of a query, fetched in batches; they are selected twice, for types are decided over all of them."""

    def __init__(self, source: ByteSource, reading: ReadOptions) -> None:
        self.engine, shown = _engine(source.path)
        self.name = shown
        self.size = reading.rows_at_once
        with refusing_queries(shown):
            self.query = _query(self.engine, reading, shown)
            with self._result() as result:
                names = [str(name) for name in result.keys()]  # noqa: SIM118
            super().__init__(shown, names, reading)

    def cells(self) -> Iterator[Any]:
        with refusing_queries(self.name), self._result() as result:
            for part in result.partitions(self.size):
                yield from part

    @contextmanager
    def _result(self) -> Iterator[Any]:
        # Whatever the query does is taken back: nothing is ever committed.
        with self.engine.connect() as connection:
            yield connection.execution_options(stream_results=True).execute(self.query)


def _engine(path: str) -> tuple[Any, str]:
    """A way to the database, and its address as it may be shown."""
    try:
        import sqlalchemy
        from sqlalchemy.exc import ArgumentError, NoSuchModuleError
    except ImportError as error:
        raise MissingExtraError("sql", needs="SQLAlchemy") from error
    try:
        url = sqlalchemy.make_url(path if "://" in path else f"{_SQLITE}:///{path}")
        if url.get_backend_name() == _SQLITE:
            check_database(url.database, path)
            # Only to be read; a database that is not there would be made otherwise.
            address = Path(url.database or "").resolve().as_uri()
            return sqlalchemy.create_engine(f"{_SQLITE}:///{address}?mode=ro&uri=true"), str(url.database)
        return sqlalchemy.create_engine(url), url.render_as_string(hide_password=True)
    except (ArgumentError, NoSuchModuleError) as error:
        raise InputError(f"{path.partition('://')[0]}:// is not the address of a database ({error}).") from error
    except ImportError as error:
        raise InputError(f"the driver of this database is not installed: {error}.") from error


def check_database(database: str | None, path: str) -> None:
    """Refuse the address of a file that is not there."""
    if not database or not Path(database).is_file():
        raise InputError(f"there is no database {database or path}.")


def choose_table(tables: list[str], reading: ReadOptions, name: str) -> str:
    """The table that is named, or the only one."""
    wanted = reading.sheet or (tables[0] if len(tables) == 1 else None)
    if wanted is None or wanted not in tables:
        there = ", ".join(map(repr, tables)) or "none"
        what = "say which table to read" if wanted is None else f"there is no table {wanted!r}"
        raise SettingError(f"{name}: {what}. Its tables: {there}. A query does as well.", setting="sheet")
    return wanted


def _query(engine: Any, reading: ReadOptions, name: str) -> Any:
    import sqlalchemy

    if reading.query is not None:
        return sqlalchemy.text(reading.query)
    found = sqlalchemy.inspect(engine)
    chosen = choose_table([*found.get_table_names(), *found.get_view_names()], reading, name)
    return sqlalchemy.select(sqlalchemy.text("*")).select_from(sqlalchemy.table(chosen))


@contextmanager
def refusing_queries(name: str) -> Iterator[None]:
    """Whatever the database refuses is said in one line."""
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except SQLAlchemyError as error:
        what = str(getattr(error, "orig", None) or error).splitlines()[0]
        raise InputError(f"{name} cannot be read: {what}.") from error


FORMAT = Format((".db", ".sqlite", ".sqlite3"), SqlRows, addresses=("*",))
