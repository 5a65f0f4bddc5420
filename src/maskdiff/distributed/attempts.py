"""Files that end every worker: the attempts at a bundle, noted beside the results, where the next worker finds them."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress

from maskdiff.distributed.manifest import FOLDER
from maskdiff.distributed.places import Place, placed
from maskdiff.errors import InputError
from maskdiff.io.atomic import write_text

# A file is given up after so many workers died of it, the first not counted.
ATTEMPTS = 2


class Attempts:
    """The attempts at a bundle of parts, given the name of its first part.

    Ray replaces a worker that died and has the next one score the same bundle, without end. So a first attempt leaves a
    note that it began; one that finds the note adds which part it is at, and refuses a part that others died of.
    """

    def __init__(self, out: Place, name: str, at_most: int = ATTEMPTS) -> None:
        # Hidden and named like all that is removed where a job is interrupted.
        self.place = out / FOLDER / f".maskdiff-begun-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
        self.at_most = at_most
        content = self.place.read_bytes()
        self.is_first = content is None
        self.begun: dict[str, int] = json.loads(content or b"{}")
        if self.is_first:
            self._write()

    def begin(self, name: str) -> None:
        """Note that a part is begun."""
        if self.is_first:
            return
        if self.begun.get(name, 0) >= self.at_most:
            raise InputError(
                "one worker after the other died while it was scored. Too little memory is the usual reason: try fewer "
                "workers on each node, or smaller row groups."
            )
        self.begun[name] = self.begun.get(name, 0) + 1
        self._write()

    def end(self, name: str) -> None:
        """No worker died of this part."""
        self.begun.pop(name, None)

    def close(self) -> None:
        """All parts of the bundle are done."""
        with suppress(OSError):
            self.place.delete()

    def _write(self) -> None:
        with suppress(OSError), placed(self.place) as path:  # a full disk says so when the results are written
            write_text(path, json.dumps(self.begun))
