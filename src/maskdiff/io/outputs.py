"""What may be written where: never over what is being read, and never over what is something else.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     rows = Path(folder, "rows.csv")
...     _ = rows.write_text("a,b")
...     check_output(rows, [str(rows)])
Traceback (most recent call last):
    ...
maskdiff.errors.SettingError: ...rows.csv is read and cannot be written as well. Name another file to write.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from maskdiff.errors import SettingError
from maskdiff.io.atomic import check_folder
from maskdiff.io.inputs import input_files
from maskdiff.io.streams import STANDARD

AnyPath = str | os.PathLike[str]


@dataclass(frozen=True)
class FileContent:
    """What a file may hold, with its article, and how to see from its bytes that it does.

    `others` are endings that promise something else; behind each is what to do instead.
    """

    name: str
    fits: Callable[[BinaryIO], bool]
    others: tuple[tuple[tuple[str, ...], str], ...] = ()


def check_output(
    out: AnyPath | None,
    inputs: Iterable[AnyPath | None] = (),
    content: FileContent | None = None,
    *,
    force: bool = False,
) -> None:
    """Refuse, before anything is read, an output that is also an input, or would replace something else.

    An input is recognised by any of its names, links included. With `content`, only a file that holds the same may be
    replaced, or any with `force`. Standard streams, pipes and devices can be neither.
    """
    if out is None or os.fspath(out) == STANDARD:
        return
    check_folder(out)
    files = [file for given in inputs if given is not None for file in input_files(os.fspath(given))]
    if any(_same_file(out, file) for file in files):
        raise SettingError(f"{out} is read and cannot be written as well. Name another file to write.", setting="out")
    if content is not None:
        _check_ending(out, content)
        _check_replaced(Path(out), content, force)


def _same_file(out: AnyPath, given: AnyPath) -> bool:
    """Whether both are one regular file, by path, link or hard link."""
    both_there = Path(out).is_file() and Path(given).is_file()
    return both_there and os.path.samefile(out, given)


def _check_ending(out: AnyPath, content: FileContent) -> None:
    for endings, instead in content.others:
        if os.fspath(out).lower().endswith(endings):
            raise SettingError(f"{out} is to be {content.name}, but is not named like one. {instead}", setting="out")


def _check_replaced(out: Path, content: FileContent, force: bool) -> None:
    if force or not out.is_file() or not out.stat().st_size:  # an empty file holds nothing that could be lost
        return
    with out.open("rb") as file:
        if not content.fits(file):
            raise SettingError(
                f"{out} is there and is not {content.name}, so it is not replaced. Name another file, or replace it: "
                "force=True.",
                setting="force",
            )
