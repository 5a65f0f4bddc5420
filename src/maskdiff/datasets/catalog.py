"""Published data sets by name: which file, where it may be, which rows are anomalies (`catalog.toml`)."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from maskdiff.datasets.arff import read_arff
from maskdiff.errors import DataNotFoundError, InputError, SettingError, UnknownColumnError

if TYPE_CHECKING:
    import pandas as pd

FOLDER_VARIABLE = "MASKDIFF_DATA"


@dataclass(frozen=True)
class Publication:
    """Where files are published, and where to look for them inside the data folder."""

    published: str
    folders: tuple[str, ...]


@dataclass(frozen=True)
class Entry:
    """One data set: its file, its label column and what the labels say."""

    source: Publication
    file: str
    label: str
    normal: tuple[str, ...]
    anomaly: tuple[str, ...]
    columns: tuple[str, ...] = ()


def load(name: str, data: str | os.PathLike[str] | None = None) -> tuple[pd.DataFrame, NDArray[np.int8]]:
    """The rows of a published data set and their labels, 1 = anomaly.

    `data` is the folder with the files; by default the one the variable MASKDIFF_DATA names. Nominal columns come
    as pandas categories, missing cells as missing.
    """
    entry = _entry(name)
    path = _find(name, entry, _folder(data))
    table = _READERS[path.suffix](path)
    labels = _labels(table, entry, path)
    wanted = list(entry.columns) or [column for column in table.columns if column != entry.label]
    absent = [column for column in wanted if column not in table.columns]
    if absent:
        raise UnknownColumnError(f"{path} has no column {absent[0]!r}; is it the published file?")
    return table[wanted], labels


def names() -> list[str]:
    """The data sets `load` knows, sorted.

    >>> names()[:4]
    ['ad', 'aid362', 'apas', 'bank']
    """
    return sorted(_catalog())


@cache
def _catalog() -> dict[str, Entry]:
    tables = tomllib.loads(files(__package__).joinpath("catalog.toml").read_text(encoding="utf-8"))
    sources = {
        name: Publication(entry["published"], tuple(entry["folders"])) for name, entry in tables["source"].items()
    }
    return {
        name: Entry(
            source=sources[entry["source"]],
            file=entry["file"],
            label=entry["label"],
            normal=tuple(entry["normal"]),
            anomaly=tuple(entry["anomaly"]),
            columns=tuple(entry.get("columns", ())),
        )
        for name, entry in tables["set"].items()
    }


def _entry(name: str) -> Entry:
    try:
        return _catalog()[name]
    except KeyError:
        raise SettingError(f"there is no data set {name!r}; known are {', '.join(names())}") from None


def _folder(data: str | os.PathLike[str] | None) -> Path:
    named = data if data is not None else os.environ.get(FOLDER_VARIABLE)
    if not named:
        raise DataNotFoundError(
            f"no data folder was named: pass data=FOLDER, or set the variable {FOLDER_VARIABLE} to it"
        )
    folder = Path(named)
    if not folder.is_dir():
        raise DataNotFoundError(f"the data folder {str(folder)!r} does not exist, or is not a folder")
    return folder


def _find(name: str, entry: Entry, folder: Path) -> Path:
    """The first of the places a file may be in that holds it."""
    spellings = [entry.file, entry.file.replace(".arff", ".tar.xz")]
    places = (folder / inner / spelling for inner in entry.source.folders for spelling in spellings)
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise DataNotFoundError(
            f"data set {name!r} needs {' or '.join(dict.fromkeys(spellings))} in {str(folder)!r} or in its folder "
            f"{entry.source.folders[0]!r}; it is published in {entry.source.published}"
        )
    return found


def _read_csv(path: Path) -> pd.DataFrame:
    import pandas as pd

    # Only an empty cell is missing: texts such as "None" or "NA" are values of their own, and categories say so.
    table = pd.read_csv(path, keep_default_na=False, na_values=[""], low_memory=False)
    texts = [name for name in table if pd.api.types.infer_dtype(table[name], skipna=True) == "string"]
    return table.astype(dict.fromkeys(texts, "category"))


def _labels(table: pd.DataFrame, entry: Entry, path: Path) -> NDArray[np.int8]:
    if entry.label not in table.columns:
        raise UnknownColumnError(f"{path} has no label column {entry.label!r}; is it the published file?")
    label = table[entry.label].astype(str)
    anomaly = label.isin(entry.anomaly).to_numpy(dtype=bool)
    strange = label[~anomaly & ~label.isin(entry.normal).to_numpy(dtype=bool)]
    if len(strange):
        wanted = ", ".join([*entry.normal, *entry.anomaly])
        raise InputError(f"{path}: label column {entry.label!r} holds {strange.iloc[0]!r}; expected one of {wanted}")
    return anomaly.astype(np.int8)


_READERS: dict[str, Callable[[Path], pd.DataFrame]] = {".arff": read_arff, ".xz": read_arff, ".csv": _read_csv}
