"""The one way files are written: beside their name, then renamed. No half file ever stands under the final name."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from maskdiff.errors import SettingError
from maskdiff.written_files import record_begun, record_complete


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write; it gets its name when it is complete, and leaves nothing behind if writing it fails.

    A link is followed, permissions are kept, and a pipe or device is written to as it is.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        if target.is_dir():
            raise SettingError(f"{path} is a folder; name a file to write.")
        with open(target, "wb") as device:  # a pipe or device is never replaced
            record_begun(os.fspath(path))
            yield device
        return
    check_folder(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".maskdiff-")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with suppress(OSError):  # some file systems know no permissions
            os.chmod(temporary, _permissions(target))
        os.replace(temporary, target)
    finally:  # an interruption may come right behind the renaming
        if os.path.exists(temporary):
            os.unlink(temporary)
        else:
            record_complete(os.fspath(path))


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """A whole text as one file."""
    with atomic_write(path) as file:
        file.write(text.encode())


def check_folder(path: str | os.PathLike[str]) -> None:
    """Refuse, before any work is done, a path in a folder that is not there; "-" is no path."""
    folder = Path(os.path.realpath(path)).parent
    if os.fspath(path) != "-" and not folder.is_dir():
        raise SettingError(f"there is no folder {folder} to write {Path(path).name} into.")


def _permissions(target: Path) -> int:
    """Those of the file that is replaced, or of any new file; temporary ones are for their owner alone."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
