"""Results as JSON Lines: one record a line, appended as runs end, readable after a kill in the middle of a line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from maskdiff.bench.runs.measure import Record, Run
from maskdiff.errors import BadLineError, DataNotFoundError
from maskdiff.io.outputs import FileContent, check_output


def read_records(path: str | os.PathLike[str]) -> list[Record]:
    """The records of a file, none if there is no file; a last line that was cut short is passed over."""
    return _read(Path(path))[0]


def read_all(
    paths: Sequence[str | os.PathLike[str]], *, methods: Sequence[str] | None = None, sets: Sequence[str] | None = None
) -> list[Record]:
    """The records of several files, of these methods and sets only where any are named."""
    absent = [str(path) for path in paths if not Path(path).is_file()]
    if absent:
        raise DataNotFoundError(f"there is no file {absent[0]!r}; name files of records.")
    found = [record for path in paths for record in read_records(path)]
    return [
        record
        for record in found
        if (methods is None or record["method"] in methods) and (sets is None or record["set"] in sets)
    ]


def run_of(record: Record) -> Run:
    """Which run a record is of."""
    return Run(record["set"], record["method"], record["seed"])


def of_task(records: Iterable[Record], task: str) -> list[Record]:
    """The records of one task: "tables", "text" or "runtime"."""
    return [record for record in records if record.get("task", "tables") == task]


def latest(records: Iterable[Record]) -> list[Record]:
    """One record per run: the last that succeeded, else the last that failed."""
    chosen: dict[Run, Record] = {}
    for record in records:
        run = run_of(record)
        if record["status"] == "ok" or chosen.get(run, record)["status"] != "ok":
            chosen[run] = record
    return list(chosen.values())


RECORD_FILE = FileContent("a file of records", lambda file: file.read(1) == b"{")


class RecordFile:
    """A file of records that new ones are added to; a line that was cut short is taken away first."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        check_output(self.path, content=RECORD_FILE)
        self.records, whole = _read(self.path)
        if self.path.exists() and self.path.stat().st_size > whole:
            with self.path.open("r+b") as file:
                file.truncate(whole)

    def add(self, record: Record) -> None:
        """Write one record, so that it is on disk when this returns."""
        with self.path.open("ab") as file:
            file.write(json.dumps(record).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self.records.append(record)


def _read(path: Path) -> tuple[list[Record], int]:
    """The records, and how many bytes they take: all of the file, but for a last line without its end."""
    content = path.read_bytes() if path.exists() else b""
    whole = content.rfind(b"\n") + 1
    records = []
    for number, line in enumerate(content[:whole].splitlines(), start=1):
        try:
            record = json.loads(line)
            run_of(record)
            _ = record["status"]
        except (ValueError, KeyError, TypeError) as error:
            raise BadLineError(f"{path}, line {number}: not a record of a run ({error}). Remove the line.") from error
        records.append(record)
    return records, whole
