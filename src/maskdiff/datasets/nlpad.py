"""The files of NLP-ADBench as they are published: a folder per set, with its training and test part as JSON Lines.

Each line holds a `text` and a `label`, 1 = anomaly. The benchmark of the paper is these files, Yelp reviews among them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.errors import DataNotFoundError, InputError

PREFIX = "nlpad/"
LABELS = {0: 0, 1: 1, "0": 0, "1": 1}
# Where the sets' folders may be inside the data folder.
FOLDERS = ("NLP-ADBench/datasets", "nlpad", "text", "")


def split(name: str, data: Path) -> tuple[list[str], list[str], NDArray[np.int8]]:
    """Normal texts to learn from, texts to test on, and the labels of those, cut as they are published."""
    folder = _find(name.removeprefix(PREFIX), data)
    train, y_train = _read(folder, "train_data")
    test, y_test = _read(folder, "test_data")
    return [text for text, label in zip(train, y_train, strict=True) if not label], test, y_test


def anomalies(name: str, data: Path) -> list[str]:
    """The anomalies of the training part."""
    texts, y = _read(_find(name.removeprefix(PREFIX), data), "train_data")
    return [text for text, label in zip(texts, y, strict=True) if label]


def _find(wanted: str, data: Path) -> Path:
    places = [data / inner / wanted for inner in FOLDERS]
    found = next((place for place in places if place.is_dir()), None)
    if found is None or not wanted:
        raise DataNotFoundError(
            f"the set {PREFIX + wanted!r} needs a folder {wanted!r} in {str(data)!r} or in its folder {FOLDERS[0]!r}; "
            "it is published with NLP-ADBench (USC-FORTIS)"
        )
    return found


def _read(folder: Path, part: str) -> tuple[list[str], NDArray[np.int8]]:
    files = sorted(path for path in folder.glob("*.jsonl") if part in path.name)
    if len(files) != 1:
        raise DataNotFoundError(f"{folder} needs one file with {part!r} in its name and the ending .jsonl")
    with files[0].open(encoding="utf-8") as lines:
        read = [_record(line, files[0], number) for number, line in enumerate(lines, start=1) if line.strip()]
    return [text for text, _ in read], np.array([label for _, label in read], dtype=np.int8)


def _record(line: str, path: Path, number: int) -> tuple[str, int]:
    try:
        record: Any = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"{path}, line {number} is not JSON ({error})") from error
    text, label = (record.get(key) if isinstance(record, dict) else None for key in ("text", "label"))
    if not isinstance(text, str) or not isinstance(label, int | str) or label not in LABELS:
        raise InputError(f"{path}, line {number}: expected a text and a label of 0 or 1; got {line[:60].strip()!r}")
    return text, LABELS[label]
