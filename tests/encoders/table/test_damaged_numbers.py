"""A few numbers with a slip in them do not make a column one of categories: they are cells that cannot be read."""

import numpy as np
import pandas as pd
import pytest

from maskdiff import Steps, TableDetector, TableEncoder
from maskdiff.encoders.table.input import read_table
from maskdiff.encoders.table.recognition import TableRecognition
from maskdiff.errors import ReadingWarning
from maskdiff.io import open_rows
from maskdiff.jobs.rows.table import read_table as read_file

pytestmark = pytest.mark.filterwarnings("ignore::maskdiff.errors.ReadingWarning")

SLIPS = ["x", "O", "?", "l", "S"]


def amounts(n=1500, damaged=30, seed=0):
    """Amounts as texts, of which so many hold a letter in place of a digit, and their places."""
    rng = np.random.default_rng(seed)
    texts = [str(number) for number in rng.integers(10_000, 99_999, n)]
    places = rng.choice(n, damaged, replace=False)
    for at, place in enumerate(places.tolist()):
        cut = 1 + at % 4
        texts[place] = texts[place][:cut] + SLIPS[at % 5] + texts[place][cut + 1 :]
    return texts, places


def table(**settings):
    texts, places = amounts(**settings)
    kind = np.where(np.arange(len(texts)) % 2, "in", "out")
    return pd.DataFrame({"kind": kind, "amount": texts}), places


def read_as(texts):
    return found_in(pd.DataFrame({"amount": texts}), len(texts)).column_type.general


def found_in(rows, at_once):
    """What the amounts stand for, seen in batches of so many rows."""
    recognition = TableRecognition({})
    for at in range(0, len(rows), at_once):
        recognition.add(read_table(rows[at : at + at_once]))
    return recognition.found()["amount"]


def test_the_column_is_one_of_numbers_and_its_damaged_cells_are_unseen():
    rows, places = table()
    encoder = TableEncoder().fit(rows)
    amount = encoder.schema_.fields[1]
    assert (amount.type, amount.n_marks) == ("number", 0)
    np.testing.assert_array_equal(np.flatnonzero(~encoder.encode(rows).known[:, 1]), np.sort(places))
    assert amount.unseen_mass == pytest.approx(30 / 1470, rel=0.1)
    notes = encoder.notes(rows, places[:3], np.ones(3, np.int64))
    assert notes == ["no number"] * 3


def test_marks_among_them_stay_marks():
    rows, _ = table()
    rows.loc[rows.index[5:200:10], "amount"] = "unknown"
    amount = TableEncoder().fit(rows).schema_.fields[1]
    assert (amount.type, amount.labels[-1]) == ("number", "unknown")


def test_where_more_than_one_in_twenty_is_damaged_they_are_categories():
    assert read_as(amounts(damaged=74)[0]) == "number"
    assert read_as(amounts(damaged=78)[0]) == "category"


def test_numbers_that_repeat_are_categories_beside_damaged_ones():
    rng = np.random.default_rng(1)
    texts = [str(number) for number in rng.integers(100, 150, 1000)]
    texts[::50] = [f"1{letter}7" for letter in "abcdefghijklmnopqrst"]
    assert read_as(texts) == "category"


def test_codes_with_a_leading_zero_stay_codes_unless_they_are_slips():
    numbers = amounts(damaged=0)[0]
    assert read_as([*numbers, *(f"0{code}" for code in range(1000, 1015))]) == "category"
    assert read_as([*numbers, "01234"]) == "number"


def test_texts_that_are_mostly_digits_are_no_numbers():
    addresses = [f"10.0.{one}.{other}" for one in range(8) for other in range(50)]
    telephones = [f"030-{number}" for number in range(20_000, 20_400)]
    assert read_as(addresses) == read_as(telephones) == "category"


def test_it_does_not_matter_how_the_rows_are_cut_into_batches():
    found = [found_in(table()[0], size) for size in (7, 400, 5000)]
    assert {(one.column_type.name, one.marks, one.damaged) for one in found} == {("integer", (), found[0].damaged)}
    assert found[0].damaged.removeprefix("30, such as ") in table()[0]["amount"].tolist()


def test_a_notice_counts_them_and_names_one():
    rows, places = table()
    with pytest.warns(ReadingWarning, match=r"not all texts are numbers in 'amount' \(30, such as (.*)\)") as caught:
        TableEncoder().fit(rows)
    named = str(caught[0].message).split("such as ")[1].split(")")[0]
    assert named in rows["amount"].iloc[places].tolist()


@pytest.mark.parametrize("name", ["kernel", "mlp"])
def test_a_detector_learns_from_such_a_column_and_finds_damaged_numbers_odd(name, monkeypatch):
    monkeypatch.setattr(Steps, "steps", lambda self, n_rows, batch_size: 60)
    detector = TableDetector(name, progress=False).fit(table()[0])
    fine = table(seed=1, damaged=0)[0]
    damaged = fine.assign(amount=fine["amount"].str.replace("^(..).", r"\1x", regex=True))
    assert detector.anomaly_score(damaged).min() > np.median(detector.anomaly_score(fine))
    # As many rows are alarms as calibration promises, damaged ones among those that calibrated.
    assert detector.is_anomaly(fine, false_alarm_rate=0.05).mean() < 0.08


def test_a_file_that_is_read_as_one_table_keeps_its_damaged_numbers(tmp_path):
    rows, places = table()
    rows.to_csv(tmp_path / "rows.csv", index=False)
    with open_rows(str(tmp_path / "rows.csv")) as opened:
        read = read_file(opened).to_pandas()
    assert read["amount"].iloc[places].tolist() == rows["amount"].iloc[places].tolist()
