"""Columns of numbers and dates with a few other texts among them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from maskdiff import TableDetector
from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.errors import ModelFileError

NUMBERS = [f"{n / 4}" for n in range(200)]


def encoded(texts, **settings):
    encoder = TableEncoder(**settings).fit(pd.DataFrame({"a": texts}))
    return encoder, encoder.schema_.fields[0], encoder.encode(pd.DataFrame({"a": texts})).values[:, 0]


@pytest.mark.parametrize("mark", ["-", "?", "unknown", "k.A.", "out of range"])
def test_a_text_among_numbers_is_a_value_of_its_own(mark):
    encoder, field, codes = encoded([*NUMBERS, mark, mark, mark])
    assert (field.type, field.labels[-1], field.counts[-1]) == ("number", mark, 3)
    assert set(codes[-3:]) == {field.size - 1}
    assert field.n_ordered == field.size - 1
    assert codes[:-3].max() < field.size - 1
    assert encoder.summary()[0]["marks"] == [mark]
    assert encoder.encode([["another"]]).values.tolist() == [[field.size]]


def test_a_text_that_means_missing_is_missing_among_numbers():
    _, field, codes = encoded([*NUMBERS, "n/a", "-"], missing=["-"])
    assert (field.labels[-1], field.counts[-1], field.n_marks) == ("missing", 2, 0)
    assert set(codes[-2:]) == {field.size - 1}


def test_marks_come_before_missing_and_in_order():
    _, field, codes = encoded(["?", "", *NUMBERS, "-"])
    assert field.labels[-3:] == ("-", "?", "missing")
    assert codes[[-1, 0, 1]].tolist() == [field.size - 3, field.size - 2, field.size - 1]


@pytest.mark.parametrize(
    "texts",
    [
        [*NUMBERS, *"abcdef"],  # six different ones
        [*NUMBERS, *["out of range"] * 30],  # more than a tenth of the rows
        ["1", "2", "3", "other"] * 30,  # few numbers: codes of something
        ["01234", "-", *(str(n) for n in range(10000, 10100))],  # zip codes
    ],
    ids=["many", "often", "few", "zip"],
)
def test_other_columns_stay_categories(texts):
    assert encoded([*texts, *texts])[1].type == "category"


def test_usual_marks_may_be_frequent_and_stand_among_dates_too():
    days = [f"{n % 28 + 1:02d}.03.2024" for n in range(100)]
    for texts in ([*NUMBERS, *["-"] * 100], [*days, *["unknown"] * 50]):
        _, field, codes = encoded(texts)
        assert (field.type, field.n_marks) == ("date" if "03" in texts[0] else "number", 1)
        assert set(codes[-50:]) == {field.size - 1}


def test_a_column_with_marks_scores_the_same_from_a_model_file():
    encoder, _, codes = encoded([*(f"${n},{n}00" for n in range(101, 150)), "?", "unclear"], decimal=".")
    state = json.loads(json.dumps(encoder.to_state()))
    again = TableEncoder.from_state(state)
    assert again.to_state() == state
    texts = [*(f"${n},{n}00" for n in range(101, 150)), "?", "unclear"]
    np.testing.assert_array_equal(again.encode(pd.DataFrame({"a": texts})).values[:, 0], codes)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        *(("marks", ["x"]), ("marks", ["?", "?"]), ("marks", []), ("options", {"format": 5}), ("options", None)),
        *(("options", {"marks": "?"}), ("options", {"colour": 1})),
        ("options", {"format": {"decimal": ";"}, "example": None}),
    ],
)
def test_marks_and_formats_of_a_model_file_are_checked(place, value):
    state = encoded([*(f"${n}.5" for n in range(60)), "?"])[0].to_state()
    state["columns"][0][place] = value
    with pytest.raises(ModelFileError):
        TableEncoder.from_state(state)


def test_a_category_that_differs_in_case_or_blanks_is_odd_and_said_so():
    normal = pd.DataFrame({"region": ["North", "South", "New York"] * 60, "kind": ["a", "a", "b"] * 60})
    detector = TableDetector("kernel").fit(normal)
    rows = pd.DataFrame({"region": [" North", "north", "New  York", "West", "North"], "kind": list("aabaa")})
    assert not detector.encoder_.encode(rows).known[:4, 0].any()
    notes = detector.encoder_.notes(rows, range(5), ["region"] * 5)
    assert notes == [
        *[f"differs from {name} only in case or blanks" for name in ("North", "North", "New York")],
        "",
        "",
    ]
    explained = detector.explain(rows[:1], top=1)
    assert explained["note"].tolist() == ["differs from North only in case or blanks"]
