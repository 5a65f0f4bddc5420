"""Where files are: on a disk that all workers see, or in an object store that pyarrow knows (s3://, gs://, hdfs://).

Rows are read and written by `maskdiff.io`, which needs files. An object is copied to the disk of the worker first, and
a result is uploaded once it is complete; object stores show an object only when all of it has arrived.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from maskdiff.errors import InputError
from maskdiff.io.inputs import input_files

_PATTERN = "*?["


@dataclass(frozen=True)
class Place:
    """A file or folder: its path, and the address of the store that it is in; None: a local path.

    >>> str(Place.of("s3://bucket/claims") / "a.parquet")
    's3://bucket/claims/a.parquet'
    """

    path: str
    store: str | None = None

    @classmethod
    def of(cls, given: str | os.PathLike[str]) -> Place:
        """A local path, which all workers have to see, or an address with "://"."""
        text = os.fspath(given)
        if "://" not in text:
            return cls(os.path.abspath(text))
        scheme, _, path = text.partition("://")
        return cls(path.rstrip("/"), scheme)

    def __str__(self) -> str:
        return self.path if self.store is None else f"{self.store}://{self.path}"

    def __truediv__(self, name: str) -> Place:
        return replace(self, path=f"{self.path.rstrip('/')}/{name}")

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def parent(self) -> Place:
        return replace(self, path=self.path.rpartition("/")[0])

    def opened_store(self) -> tuple[Any, str]:
        """The file system, and the path in it."""
        import pyarrow as pa
        from pyarrow import fs

        if self.store is None:
            return fs.LocalFileSystem(), self.path
        try:
            system, path = fs.FileSystem.from_uri(str(self))
        except (pa.ArrowException, ValueError, OSError) as error:
            raise InputError(f"{self} cannot be reached ({str(error).splitlines()[0]}).") from error
        return system, path

    def exists(self) -> bool:
        """Whether a file is there."""
        system, path = self.opened_store()
        return bool(system.get_file_info(path).is_file)

    def read_bytes(self) -> bytes | None:
        """What the file holds; None where there is none."""
        if not self.exists():
            return None
        system, path = self.opened_store()
        with system.open_input_stream(path, compression=None) as stream:
            return bytes(stream.read())

    def delete(self) -> None:
        """Remove the file, where it is there."""
        system, path = self.opened_store()
        if system.get_file_info(path).is_file:
            system.delete_file(path)

    def delete_folder(self) -> None:
        """Remove the folder with all in it, as far as it is there and that is allowed."""
        with suppress(OSError, InputError):
            system, path = self.opened_store()
            system.delete_dir(path)


@dataclass(frozen=True)
class SourceFile:
    """A file to read. `name` is its path below the folder of all of them; size and time show whether it changed."""

    place: Place
    name: str
    size: int
    modified: float


def list_files(given: str) -> list[SourceFile]:
    """The files that a path, a folder or a pattern stands for, in the order of their names."""
    found = _local_files(given) if "://" not in given else _stored_files(given)
    if not found:
        raise InputError(f"{given} is a folder without files.")
    below = os.path.commonpath([os.path.dirname(place.path) for place, _ in found])
    named = [(os.path.relpath(place.path, below), place, info) for place, info in found]
    return [SourceFile(place, name, size, modified) for name, place, (size, modified) in sorted(named)]


Info = tuple[int, float]


def _local_files(given: str) -> list[tuple[Place, Info]]:
    files = [Place.of(path) for path in input_files(given)]
    missing = next((place for place in files if not Path(place.path).is_file()), None)
    if missing is not None:
        raise InputError(f"there is no file {missing}.")
    stats = (os.stat(place.path) for place in files)
    return [(place, (stat.st_size, stat.st_mtime)) for place, stat in zip(files, stats, strict=True)]


def _stored_files(given: str) -> list[tuple[Place, Info]]:
    """Files of an object store; "*" in a pattern stands for any name below the folder before it."""
    from pyarrow import fs

    place = Place.of(given)
    wild = any(sign in place.path for sign in _PATTERN)
    folder = place
    while any(sign in folder.path for sign in _PATTERN):
        folder = replace(folder, path=folder.path.rpartition("/")[0])
    system, inside = folder.opened_store()
    info = system.get_file_info(inside)
    if info.is_file and not wild:
        return [(place, _info_of(info))]
    listed = system.get_file_info(fs.FileSelector(inside, recursive=wild, allow_not_found=True))
    found = [(folder / os.path.relpath(one.path, inside), one) for one in listed if one.is_file]
    if wild:
        found = [(one, info) for one, info in found if fnmatch(one.path, place.path)]
        if not found:
            raise InputError(f"no file fits {given}.")
    elif not found:
        raise InputError(f"there is no file {given}.")
    return [(one, _info_of(info)) for one, info in found if not one.name.startswith(".")]


def _info_of(info: Any) -> Info:
    return int(info.size or 0), float((info.mtime_ns or 0) / 1e9)


@contextmanager
def fetched(place: Place) -> Iterator[str]:
    """A local path to read: the file itself, or a copy for as long as it is needed."""
    if place.store is None:
        yield place.path
        return
    with tempfile.TemporaryDirectory(prefix="maskdiff-") as folder:
        path = os.path.join(folder, place.name)
        system, inside = place.opened_store()
        with system.open_input_stream(inside, compression=None) as stream, open(path, "wb") as file:
            shutil.copyfileobj(stream, file, 1 << 22)
        yield path


@contextmanager
def placed(place: Place) -> Iterator[str]:
    """A local path to write a whole file to; it gets to its place once it is complete."""
    if place.store is None:
        os.makedirs(os.path.dirname(place.path), exist_ok=True)
        yield place.path
        return
    with tempfile.TemporaryDirectory(prefix="maskdiff-") as folder:
        path = os.path.join(folder, place.name)
        yield path
        system, inside = place.opened_store()
        system.create_dir(inside.rpartition("/")[0], recursive=True)
        with open(path, "rb") as file, system.open_output_stream(inside, compression=None) as stream:
            shutil.copyfileobj(file, stream, 1 << 22)
