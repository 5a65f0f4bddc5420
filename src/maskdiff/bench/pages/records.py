"""The records that pages are made of: the files of a folder, and of its folder `more`, by name.

What a reader has to know of a file, such as how the machine was used, stands in `notes.toml` beside them; why cells of
the paper's tables were not run, and why some are far from the published ones, in `not_run.toml`.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from maskdiff.bench.runs.measure import Record
from maskdiff.bench.runs.records import latest, read_records
from maskdiff.errors import DataNotFoundError


class RecordFolder:
    """Records by the name of their file, without its ending; one that is not there has none."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        paths = sorted([*self.folder.glob("*.jsonl"), *self.folder.glob("more/*.jsonl")])
        if not paths:
            raise DataNotFoundError(f"there are no files of records (*.jsonl) in the folder {str(folder)!r}.")
        notes = self.folder / "notes.toml"
        self.notes: dict[str, str] = tomllib.loads(notes.read_text(encoding="utf-8")) if notes.exists() else {}
        not_run = self.folder / "not_run.toml"
        reasons = tomllib.loads(not_run.read_text(encoding="utf-8")) if not_run.exists() else {}
        self.reasons: list[dict[str, Any]] = reasons.get("cells", [])
        self.differences: list[dict[str, Any]] = reasons.get("differences", [])
        found = {path.stem: latest(read_records(path)) for path in paths}
        self.records = {name: [one for one in own if one["status"] == "ok"] for name, own in found.items()}
        self._stopped = {name: [one for one in own if "stopped_after" in one] for name, own in found.items()}

    def __getitem__(self, name: str) -> list[Record]:
        return self.records.get(name, [])

    def stopped(self, name: str) -> list[Record]:
        """The runs that took longer than they were allowed to."""
        return self._stopped.get(name, [])

    def note(self, name: str) -> str:
        """What a reader has to know of a file of records; nothing where there is no note."""
        return self.notes.get(name, "")

    def of(self, *names: str) -> list[Record]:
        """The records of several files, one after the other."""
        return [record for name in names for record in self[name]]
