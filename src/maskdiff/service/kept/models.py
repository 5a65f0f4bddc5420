"""The models in a folder, loaded when they are first asked for and again when their files change."""

from __future__ import annotations

import asyncio
import os
import re
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from maskdiff.detectors import Detector
from maskdiff.errors import ModelFileError
from maskdiff.service.metrics import SharedCounts
from maskdiff.service.requests.names import MODEL_NAME, check_model_name
from maskdiff.service.requests.problems import Problem
from maskdiff.storage import load

ENDING = ".maskdiff"
# Models held in memory at once; those that were not asked for longest are let go.
_MOST_LOADED = 16

# A file is another one when any of these changes; models are always replaced by renaming.
Stamp = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A model in memory, the version of its file, and counts of the rows it judged."""

    name: str
    path: Path
    stamp: Stamp
    detector: Detector
    counts: SharedCounts


class ModelFolder:
    """Models by their names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.loaded: OrderedDict[str, ServedModel] = OrderedDict()
        self.loading: dict[str, asyncio.Lock] = {}

    def path(self, name: str) -> Path:
        """The file of a model; the name is checked, the file need not be there."""
        return self.folder / f"{check_model_name(name)}{ENDING}"

    def check_there(self, name: str) -> Path:
        path = self.path(name)
        if not path.is_file():
            raise Problem(404, f"there is no model called {name}.")
        return path

    def list(self) -> list[dict[str, Any]]:
        """Name, size and time of every model, by name."""
        found = []
        for path in sorted(self.folder.glob(f"*{ENDING}")):
            if re.fullmatch(MODEL_NAME, path.stem) and path.is_file():
                status = path.stat()
                modified = datetime.fromtimestamp(status.st_mtime, UTC).isoformat(timespec="seconds")
                found.append({"name": path.stem, "bytes": status.st_size, "modified": modified})
        return found

    async def get(self, name: str) -> ServedModel:
        """The model of that name."""
        return await self.get_file(name, self.check_there(name))

    async def get_file(self, name: str, path: Path) -> ServedModel:
        """The model in a file, loaded again if the file was replaced."""
        known = self.loaded.get(name)
        if known is not None and known.stamp == stamp_of(path):
            self.loaded.move_to_end(name)
            return known
        async with self.loading.setdefault(name, asyncio.Lock()):
            known = self.loaded.get(name)
            if known is None or known.stamp != stamp_of(path):
                known = await asyncio.to_thread(_load, name, path)
                self.loaded[name] = known
                if len(self.loaded) > _MOST_LOADED:
                    self.loaded.popitem(last=False)
        return known

    def forget(self, name: str) -> None:
        self.loaded.pop(name, None)


def stamp_of(path: Path) -> Stamp:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        raise Problem(404, f"there is no model called {path.stem}.") from None
    return status.st_ino, status.st_mtime_ns, status.st_size


def _load(name: str, path: Path) -> ServedModel:
    # The stamp is taken first: a file that is replaced while it is read is read again next time.
    stamp = stamp_of(path)
    try:
        detector = load(path)
    except ModelFileError as error:
        raise Problem(409, str(error).replace(str(path), name)) from error
    detector.progress = False
    detector.warm_up()
    return ServedModel(name, path, stamp, detector, SharedCounts(detector))
