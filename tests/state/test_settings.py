"""Settings as JSON and back: only registered classes, every argument of its type."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maskdiff import Epochs, ProbeGrid, Training
from maskdiff.errors import ModelFileError, SettingError
from maskdiff.masking import SCHEDULES, Polynomial, Schedule
from maskdiff.state import fits, from_plain, to_plain
from maskdiff.state import settings as room


@pytest.mark.parametrize(
    "value",
    [
        None,
        "text",
        3,
        0.5,
        (1, (2, "three")),
        {"a": "category", 2: None},
        Polynomial(1.5),
        ProbeGrid((0.2, 0.7), 4, "independent", "zero", seed=9),
        Training(Epochs(3), batch_size=7, warmup=0.25),
    ],
)
def test_a_value_comes_back_from_json(value):
    assert from_plain(json.loads(json.dumps(to_plain(value)))) == value


def test_numbers_of_numpy_and_paths_become_plain():
    assert to_plain({"seed": np.int64(3), "folder": Path("a")})["entries"] == [["seed", 3], ["folder", "a"]]


class Window:
    """Keeps what its constructor is given, without being a dataclass."""

    def __init__(self, length: int = 3, names: dict[str, str] | None = None) -> None:
        self.length, self.names = length, names


@dataclass(frozen=True)
class Steep(Schedule):
    def alpha(self, time):
        return (1 - time) ** 2


def test_any_registered_class_that_keeps_its_arguments_can_be_stored(monkeypatch):
    monkeypatch.setitem(room._ALONE, "Window", Window)
    again = from_plain(to_plain(Window(5, {"a": "b"})))
    assert (type(again), again.length, again.names) == (Window, 5, {"a": "b"})
    monkeypatch.delitem(room._ALONE, "Window")
    with pytest.raises(SettingError, match=r"Window object .* cannot be saved"):
        to_plain(Window())


def test_a_class_added_to_a_registry_later_can_be_stored(monkeypatch):
    monkeypatch.setitem(SCHEDULES, "steep", Steep)
    assert from_plain(to_plain(Steep())) == Steep()


def test_a_class_of_the_same_name_is_not_taken_for_the_registered_one(monkeypatch):
    monkeypatch.setitem(room._ALONE, "Window", Window)
    other = type("Window", (), {})
    with pytest.raises(SettingError, match="cannot be saved"):
        to_plain(other())


GRID = to_plain(ProbeGrid())


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        ({"is": "Popen"}, "names the class 'Popen'"),
        ({"is": ["ProbeGrid"]}, "names the class"),
        ({}, "names the class None"),
        ([1], "a setting is"),
        ({"is": "tuple", "entries": 3}, "has no entries"),
        ({"is": "dict", "entries": [[1]]}, "no pairs"),
        ({"is": "dict", "entries": [[{"is": "tuple", "entries": []}, 1]]}, "keys that cannot be used"),
        (GRID | {"seed": True}, r"ProbeGrid\.seed is True"),
        (GRID | {"seed": 2**62}, r"ProbeGrid\.seed is"),
        (GRID | {"levels": None}, r"ProbeGrid\.levels is None"),
        (GRID | {"design": "nonsense"}, r"ProbeGrid\.design is 'nonsense'"),
        (GRID | {"views_per_level": 10**9}, "views_per_level must lie from 1"),
        (GRID | {"extra": 1}, "other settings than the file names: extra"),
        ({name: GRID[name] for name in ("is", "levels")}, "other settings than the file names"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(plain, message):
    with pytest.raises(ModelFileError, match=message) as refused:
        from_plain(plain, Any)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("value", "hint", "expected"),
    [
        (1, float, True),
        (True, float, False),
        (float("inf"), float, False),
        (10**400, float, False),
        (1.0, int, False),
        ((1, "a"), tuple[int, str], True),
        ((1,), tuple[int, str], False),
        ({"a": 1}, dict[str, int], True),
        ({"a": "b"}, dict[str, int], False),
        (None, int | None, True),
        (replace, Any, True),
    ],
)
def test_types_are_those_of_the_annotation(value, hint, expected):
    assert fits(value, hint) is expected
