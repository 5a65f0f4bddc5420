"""Which files an input stands for: a file, a folder or a pattern of files, a packed file, the file of a database."""

from __future__ import annotations

import glob
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from maskdiff.errors import InputError

ZIP = ".zip"
_PATTERN = frozenset("*?[")


def input_files(path: str) -> list[str]:
    """The files that are read for an input, in the order of their names; those of a folder without hidden ones.

    >>> input_files("claims.csv"), input_files("sqlite:///claims.db")
    (['claims.csv'], ['claims.db'])
    """
    if "://" in path:
        return [path.partition(":///")[2].partition("?")[0]] if ":///" in path else []
    if Path(path).is_dir():
        return sorted(str(file) for file in Path(path).iterdir() if file.is_file() and not file.name.startswith("."))
    if _PATTERN & set(path) and not Path(path).exists():
        found = sorted(file for file in glob.glob(path, recursive=True) if Path(file).is_file())
        if not found:
            raise InputError(f"no file fits {path}.")
        return found
    return [path]


@contextmanager
def unpacked(path: str) -> Iterator[str]:
    """The one file in a zip archive, under its own name for as long as it is needed."""
    if not Path(path).is_file():
        raise InputError(f"there is no file {path}.")
    with tempfile.TemporaryDirectory(prefix="maskdiff-") as folder:
        try:
            with zipfile.ZipFile(path) as archive:
                member = _only_member(archive, path)
                member.filename = Path(member.filename).name
                yield archive.extract(member, folder)
        except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError) as error:
            raise InputError(f"{path} cannot be unpacked ({error}).") from error


def _only_member(archive: zipfile.ZipFile, path: str) -> zipfile.ZipInfo:
    members = [one for one in archive.infolist() if not one.is_dir() and not one.filename.startswith("__MACOSX/")]
    if len(members) != 1:
        names = ", ".join(one.filename for one in members[:6]) or "none"
        raise InputError(f"{path} holds {len(members)} files, where one is needed: {names}. Unpack it first.")
    return members[0]
