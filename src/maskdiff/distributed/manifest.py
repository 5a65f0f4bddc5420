"""The list of what a job has finished, in its output folder, so that the same job goes on where it stopped."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from maskdiff.distributed.places import Place, SourceFile, placed
from maskdiff.errors import ModelFileError, SettingError
from maskdiff.io.atomic import write_text

# Hidden, so that the output folder can be read as a folder of rows.
FOLDER, NAME = ".maskdiff", "manifest.json"
FORMAT = 1
# The list is written at most so often; what was finished since is done again after a sudden end.
_SECONDS = 1.0


class Manifest:
    """What is finished of a job. `job` says what the results depend on: the model, the options.

    Names of parts and files -> what became of them, with the size and time of the file that was read.
    """

    def __init__(self, folder: Place, job: Mapping[str, Any]) -> None:
        self.place, self.job = folder / FOLDER / NAME, dict(job)
        self.finished: dict[str, dict[str, Any]] = {}
        self._last = 0.0

    def load(self) -> Manifest:
        """What an earlier run of the same job finished; the results of another job are not mixed with those of this."""
        content = self.place.read_bytes()
        if content is None:
            return self
        try:
            found = json.loads(content)
            job, finished, found_format = found["job"], dict(found["finished"]), int(found["format"])
        except (ValueError, KeyError, TypeError) as error:
            raise ModelFileError(f"{self.place} is damaged. Remove it to score all files again.") from error
        if found_format != FORMAT or job != self.job:
            differs = [name for name in self.job if not isinstance(job, dict) or job.get(name) != self.job[name]]
            raise SettingError(
                f"the folder holds results of another job (it differs in: {', '.join(differs) or 'format'}). Name "
                f"another folder, or remove {self.place} to write the results anew.",
                setting="out",
            )
        self.finished = finished
        return self

    def holds(self, name: str, file: SourceFile) -> bool:
        """Whether this part or file is finished, and was not changed since."""
        record = self.finished.get(name)
        return record is not None and record["size"] == file.size and record["modified"] == file.modified

    def add(self, name: str, file: SourceFile, record: Mapping[str, Any]) -> None:
        """Finished; written down at once where the last time was long enough ago."""
        self.finished[name] = {"size": file.size, "modified": file.modified, **record}
        if time.monotonic() - self._last > _SECONDS:
            self.write()

    def write(self) -> None:
        """Write the list down."""
        content = {"format": FORMAT, "job": self.job, "finished": self.finished}
        with placed(self.place) as path:
            write_text(path, json.dumps(content, sort_keys=True))
        self._last = time.monotonic()
