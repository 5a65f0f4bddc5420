"""Files that clients uploaded: each in a folder of its own that appears when the file is complete and was checked."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from maskdiff.io.rows import ReadOptions
from maskdiff.service.requests.names import check_id, new_id
from maskdiff.service.requests.problems import Problem

# What was left by uploads and requests that broke off is removed after so many seconds.
_OLD = 3600.0
PARTIAL = ".partial-"


@dataclass(frozen=True)
class StoredFile:
    """An uploaded file: what its client calls it, its format and size."""

    id: str
    name: str
    format: str
    bytes: int

    @property
    def reading(self) -> ReadOptions:
        return ReadOptions(format=self.format)


class FolderStore:
    """Folders by id under one parent; each is made under another name and renamed when it is complete."""

    what = "file"

    def __init__(self, parent: Path) -> None:
        self.parent = parent
        parent.mkdir(parents=True, exist_ok=True)

    def path(self, id: str) -> Path:
        """The folder of an id, which counts as used from now on."""
        found = self.parent / check_id(id, self.what)
        if not found.is_dir():
            raise Problem(404, f"there is no such {self.what}.")
        os.utime(found)
        return found

    @contextmanager
    def making(self, id: str | None = None) -> Iterator[tuple[str, Path]]:
        """An id and a folder to fill; it stands under its id once this ends well, and is gone otherwise."""
        id = id or new_id()
        made = self.parent / f"{PARTIAL}{id}"
        made.mkdir(exist_ok=True)
        try:
            yield id, made
            final = self.parent / id
            if final.exists():  # made by a run that was killed right before it could say so
                shutil.rmtree(final)
            made.rename(final)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise

    def remove(self, id: str) -> None:
        path = self.path(id)
        gone = path.with_name(f"{PARTIAL}{new_id()}")
        path.rename(gone)  # never half a folder under its id
        shutil.rmtree(gone, ignore_errors=True)

    def sweep(self, keep_seconds: float, needed: Container[str]) -> None:
        """Remove what broke off long ago and what nobody used for so long, except the ids that are still `needed`."""
        for path in self.parent.iterdir():
            id, broke_off = path.name.removeprefix(PARTIAL), path.name.startswith(PARTIAL)
            with suppress(OSError, Problem):  # another service of the folder was quicker
                unused = time.time() - path.stat().st_mtime
                if unused < (_OLD if broke_off else keep_seconds) or id in needed:
                    continue
                if broke_off:
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    self.remove(id)


class FileStore(FolderStore):
    """The uploaded files."""

    def describe(self, folder: Path, file: StoredFile) -> None:
        (folder / "file.json").write_text(json.dumps(asdict(file)), encoding="utf-8")

    def get(self, id: str) -> StoredFile:
        return StoredFile(**json.loads((self.path(id) / "file.json").read_text(encoding="utf-8")))

    def rows(self, id: str) -> Path:
        return self.path(id) / "rows"

    def list(self) -> list[StoredFile]:
        paths = sorted(self.parent.glob("*/file.json"), key=lambda path: -path.stat().st_mtime)
        return [self.get(path.parent.name) for path in paths if not path.parent.name.startswith(PARTIAL)]
