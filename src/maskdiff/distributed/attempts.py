"""Files that end every worker: the attempts at a bundle, noted beside the results, where the next worker finds them."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from maskdiff.distributed.places import Place, placed
from maskdiff.errors import InputError
from maskdiff.io.atomic import write_text
from maskdiff.io.streams import STANDARD

# A file is given up after so many workers died of it, the first not counted.
ATTEMPTS = 2


class Attempts:
    """The attempts at a bundle of parts, given the name of its first part. Notes of them are in a folder.

    Ray replaces a worker that died and gives the next one the same bundle, without end. So a first attempt leaves a
    note that it began; one that finds the note adds which part it is at, and refuses a part that others died of.
    """

    def __init__(self, folder: Place, name: str, at_most: int = ATTEMPTS) -> None:
        # Hidden and named like all that is removed where a job is interrupted.
        self.place = folder / f".maskdiff-begun-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
        self.at_most = at_most
        content = None
        with suppress(OSError):  # a folder that this worker may not look into
            content = self.place.read_bytes()
        self.is_first = content is None
        self.begun: dict[str, int] = json.loads(content or b"{}")
        if self.is_first:
            self._write()

    @contextmanager
    def at(self, name: str) -> Iterator[None]:
        """For as long as a part is worked on. A part that is refused stays refused."""
        self.begin(name)
        try:
            yield
        finally:
            self.end(name)

    def begin(self, name: str) -> None:
        """Note that a part is begun."""
        if self.is_first:
            return
        if self.begun.get(name, 0) >= self.at_most:
            raise InputError(
                "one worker after the other died of it. Too little memory is the usual reason: try fewer workers on "
                "each node, or smaller row groups."
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


@contextmanager
def begun_beside(out: str | os.PathLike[str]) -> Iterator[Place]:
    """The folder of notes of a job whose result is one file: hidden, beside it, for as long as the job takes."""
    if os.fspath(out) == STANDARD:
        with tempfile.TemporaryDirectory(prefix="maskdiff-") as folder:
            yield Place.of(folder)
        return
    place = Place.of(out)
    begun = place.parent / f".{place.name}.begun"
    begun.delete_folder()  # what a job that was killed left would count
    try:
        yield begun
    finally:
        begun.delete_folder()
