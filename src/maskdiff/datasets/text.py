"""Published texts and sequences by name (`text.toml`), and how the benchmark cuts them into training and test."""

from __future__ import annotations

import gzip
import json
import os
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.datasets import nlpad
from maskdiff.datasets.catalog import Publication, _folder
from maskdiff.errors import DataNotFoundError, InputError, SettingError

if TYPE_CHECKING:
    import pandas as pd

Labels = NDArray[np.int8]


@dataclass(frozen=True)
class TextEntry:
    """One set of texts: its file, how it is written, and what the labels say."""

    source: Publication
    file: str
    reader: str
    text: str
    label: str
    normal: tuple[str, ...]
    anomaly: tuple[str, ...]
    anomalies: float | None = None
    words: int | None = None


def load_text(name: str, data: str | os.PathLike[str] | None = None) -> tuple[pd.Series[Any], Labels]:
    """The texts (or lists of symbols) of a published set as a pandas Series, and their labels, 1 = anomaly.

    `data` is the folder with the files; by default the one the variable MASKDIFF_DATA names.
    """
    import pandas as pd

    entry = _entry(name)
    path = _find(name, entry, _folder(data))
    texts, labels = READERS[entry.reader](path, entry)
    strange = [label for label in labels if label not in entry.normal and label not in entry.anomaly]
    if strange:
        wanted = ", ".join([*entry.normal, *entry.anomaly])
        raise InputError(f"{path}: the label {entry.label!r} is {strange[0]!r} in one place; expected one of {wanted}")
    if entry.words is not None:
        texts, labels = _joined(texts, labels, entry.words)
    return pd.Series(texts, name=entry.text), np.isin(labels, entry.anomaly).astype(np.int8)


def _joined(texts: list[str], labels: list[str], words: int) -> tuple[list[str], list[str]]:
    """Texts of one label, one after the other, joined until they have this many words; what is over is left out.

    >>> _joined(["a b", "x", "c", "d"], ["0", "1", "0", "0"], words=2)
    (['a b', 'c d'], ['0', '0'])
    """
    articles: list[tuple[str, str]] = []
    parts: dict[str, list[str]] = {}
    for text, label in zip(texts, labels, strict=True):
        part = parts.setdefault(label, [])
        part.append(text)
        if sum(len(one.split()) for one in part) >= words:
            articles.append((" ".join(parts.pop(label)), label))
    return [text for text, _ in articles], [label for _, label in articles]


def text_names() -> list[str]:
    """The sets `load_text` knows, sorted.

    >>> text_names()
    ['agnews', 'agnews_long', 'email', 'hdfs_test', 'hdfs_train', 'sms']
    """
    return sorted(_catalog())


def split_text(
    name: str, data: str | os.PathLike[str] | None = None, *, seed: int = 0
) -> tuple[list[Any], list[Any], Labels]:
    """Normal texts to learn from, texts to test on, and the labels of those, cut as the benchmark cuts them.

    Texts that occur twice are kept once. Of the anomalies a random part is kept, as many as the benchmark has. The
    test set is 30% of the normal texts and those anomalies. Sequences come cut as they are published: `name` "hdfs"
    learns from the normal ones of the train file and tests on the whole test file, and so does "nlpad/FOLDER" with
    the files of NLP-ADBench (see `maskdiff.datasets.nlpad`).
    """
    if name.startswith(nlpad.PREFIX):
        return nlpad.split(name, _folder(data))
    if name == "hdfs":
        train, y_train = load_text("hdfs_train", data)
        test, y_test = load_text("hdfs_test", data)
        return list(train[y_train == 0]), list(test), y_test
    texts, y, normal, anomalies, n_kept = _shuffled(name, data, seed)
    n_test = round(0.3 * len(normal))
    tested = np.concatenate([normal[:n_test], anomalies[:n_kept]])
    return list(texts.iloc[normal[n_test:]]), list(texts.iloc[tested]), y[tested]


def labelled_anomalies(
    name: str, data: str | os.PathLike[str] | None = None, *, number: int, seed: int = 0
) -> list[Any]:
    """Anomalies that are not in the test set of `split_text` with this seed, for methods that learn from some."""
    if name.startswith(nlpad.PREFIX):
        found = nlpad.anomalies(name, _folder(data))
        left_over = [found[place] for place in np.random.default_rng(seed).permutation(len(found))]
    else:
        texts, _, _, anomalies, n_kept = _shuffled(name, data, seed)
        left_over = list(texts.iloc[anomalies[n_kept:]])
    if number > len(left_over):
        raise InputError(f"the test set of {name!r} leaves {len(left_over)} anomalies over; {number} are needed")
    return left_over[:number]


def _shuffled(name: str, data: str | os.PathLike[str] | None, seed: int) -> tuple[Any, Labels, Any, Any, int]:
    """The distinct texts, their labels, the places of normal ones and anomalies in random order, how many to test."""
    texts, y = load_text(name, data)
    once = ~texts.duplicated().to_numpy()
    texts, y = texts[once], y[once]
    rng = np.random.default_rng(seed)
    normal, anomalies = rng.permutation(np.flatnonzero(y == 0)), rng.permutation(np.flatnonzero(y == 1))
    return texts, y, normal, anomalies, _kept(_entry(name).anomalies, len(normal), len(anomalies))


def _kept(wanted: float | None, n_normal: int, n_anomalies: int) -> int:
    """How many anomalies are kept: so many, or so many that they are this share of all."""
    if wanted is None:
        return n_anomalies
    return min(n_anomalies, int(wanted) if wanted >= 1 else round(n_normal * wanted / (1 - wanted)))


@cache
def _catalog() -> dict[str, TextEntry]:
    tables = tomllib.loads(files(__package__).joinpath("text.toml").read_text(encoding="utf-8"))
    sources = {
        name: Publication(entry["published"], tuple(entry["folders"])) for name, entry in tables["source"].items()
    }
    entries = {}
    for name, entry in tables["set"].items():
        lists = {key: tuple(entry[key]) for key in ("normal", "anomaly")}
        entries[name] = TextEntry(**{**entry, **lists, "source": sources[entry["source"]]})
    return entries


def _entry(name: str) -> TextEntry:
    if name not in _catalog():
        raise SettingError(f"there is no set of texts {name!r}; known are {', '.join(text_names())}")
    return _catalog()[name]


def _find(name: str, entry: TextEntry, folder: Path) -> Path:
    places = [folder / inner / entry.file for inner in entry.source.folders]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise DataNotFoundError(
            f"the texts {name!r} need {entry.file} in {str(folder)!r} or in its folder "
            f"{entry.source.folders[0]!r}; it is published in {entry.source.published}"
        )
    return found


# How the files are written -------------------------------------------------------------------------------------------

Read = tuple[list[Any], list[str]]


def _read_tab(path: Path, entry: TextEntry) -> Read:
    """One text a line: label, tab, text."""
    pairs = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        label, tab, text = line.partition("\t")
        if not tab:
            raise InputError(f"{path}, line {number}: expected a label, a tab and a text; got {line[:40]!r}")
        pairs.append((text, label))
    return [text for text, _ in pairs], [label for _, label in pairs]


def _read_csv(path: Path, entry: TextEntry) -> Read:
    import pandas as pd

    table = pd.read_csv(path, keep_default_na=False, na_values=[])
    absent = [column for column in (entry.text, entry.label) if column not in table.columns]
    if absent:
        raise InputError(f"{path} has no column {absent[0]!r}; is it the published file?")
    return table[entry.text].tolist(), table[entry.label].astype(str).tolist()


def _read_jsonl(path: Path, entry: TextEntry) -> Read:
    records = list(_records(path))
    for number, record in enumerate(records, start=1):
        if entry.text not in record or entry.label not in record:
            raise InputError(f"{path}, line {number} has not both {entry.text!r} and {entry.label!r}")
    return [record[entry.text] for record in records], [str(record[entry.label]) for record in records]


def _records(path: Path) -> Iterable[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                yield json.loads(line)
            except json.JSONDecodeError as error:
                raise InputError(f"{path}, line {number} is not JSON ({error})") from error


READERS: dict[str, Callable[[Path, TextEntry], Read]] = {"tab": _read_tab, "csv": _read_csv, "jsonl": _read_jsonl}
