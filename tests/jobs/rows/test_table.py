"""The rows of a file as a detector of tables takes them."""

from __future__ import annotations

import pandas as pd
import pytest

from maskdiff import TableDetector
from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.errors import DateOrderWarning, ReadingWarning, UnknownColumnError
from maskdiff.io import open_rows
from maskdiff.jobs import NormalTableRows, fit_file, score_file
from maskdiff.jobs.rows.labels import Labels

from ...io.written import csv_file


def test_a_repeated_name_cannot_be_learned_from_unless_it_is_dropped(tmp_path):
    path = csv_file(tmp_path, "a,b,a\n1,2,3\n")
    with open_rows(str(path)) as rows:
        with pytest.raises(UnknownColumnError, match="columns 1 and 3 are both named 'a'"):
            NormalTableRows(rows)
        assert [table.column_names for table in NormalTableRows(rows, {"a": "drop"}).batches()] == [["a", "b"]]


def test_columns_that_share_the_empty_name_are_left_out_with_a_notice(tmp_path):
    path = csv_file(tmp_path, "a,b,,\n1,2,,\n3,4,,\n")
    with open_rows(str(path)) as rows:
        with pytest.warns(ReadingWarning, match="columns without a name left out: 3, 4"):
            found = NormalTableRows(rows)
        assert [table.to_pydict() for table in found.batches()] == [{"a": ["1", "3"], "b": ["2", "4"]}]


@pytest.mark.parametrize("last", ["Total,,,99", "Summe:,,,", ",,Grand total,1.5"])
def test_a_total_at_the_end_is_named(last, tmp_path):
    path = csv_file(tmp_path, f"a,b,c,d\nx,1,2,3\ny,4,5,6\n{last}\n")
    with open_rows(str(path)) as rows:
        found = NormalTableRows(rows)
        with pytest.warns(ReadingWarning, match="last row looks like a total"):
            assert sum(table.num_rows for table in found.batches()) == 3
        assert sum(table.num_rows for table in found.batches()) == 3  # said once, however often the file is read


def test_a_row_that_is_full_or_in_the_middle_is_no_total(tmp_path):
    path = csv_file(tmp_path, "name,amount,c,d\nTotal,,,5\nTotal SA,5,x,y\nSumatra,,,\n")
    with open_rows(str(path)) as rows:
        assert sum(table.num_rows for table in NormalTableRows(rows).batches()) == 3


def test_rows_that_are_not_normal_are_left_out(tmp_path):
    path = csv_file(tmp_path, "n,y\n1,0\nERR,1\n2,0\n")
    with open_rows(str(path)) as rows:
        found = NormalTableRows(rows, {"y": "drop"}, Labels("y"))
        (table,) = found.batches()
    assert found.n_rows == 2
    assert table["n"].to_pylist() == ["1", "2"]
    assert table["y"].null_count == 2


DAYS = pd.date_range("2024-01-01", periods=120, freq="D")


@pytest.mark.filterwarnings("ignore:.*written yyyymmdd:maskdiff.errors.AmbiguousColumnWarning")
@pytest.mark.parametrize("written", ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d %b %Y", "%Y%m%d", "%d-%m-%y %I:%M %p"])
def test_dates_in_any_format_make_the_same_model_and_the_same_scores(written, tmp_path):
    _write(tmp_path / "normal.csv", [*DAYS, *DAYS], written)
    _write(tmp_path / "new.csv", [pd.Timestamp("2024-03-05"), pd.Timestamp("2199-12-31")], written)
    detector = fit_file(str(tmp_path / "normal.csv"), detector=TableDetector("kernel"))
    (field,) = (field for field in detector.encoder_.schema_ if field.name == "day")
    assert (field.type, field.labels[0]) == ("date", "[2024-01-01, 2024-01-12]")
    score_file(detector, str(tmp_path / "new.csv"), str(tmp_path / "scored.csv"))
    scored = pd.read_csv(tmp_path / "scored.csv")
    assert scored["is_anomaly"].tolist() == [False, True]


def _write(path, days, written):
    path.write_text("day,pet\n" + "".join(f"{day.strftime(written)},cat\n" for day in days), encoding="utf-8")


def test_the_order_of_day_and_month_can_be_said_and_else_a_notice_says_which_was_taken(tmp_path):
    path = csv_file(tmp_path, "day,pet\n01/02/2024,cat\n03/04/2024,cat\n")
    with pytest.warns(DateOrderWarning, match="'day'"):
        found = fit_file(str(path), detector=TableDetector("kernel", false_alarm_rate=0.5))
    said = TableDetector("kernel", false_alarm_rate=0.5, encoder=TableEncoder(day_first=False))
    months = [one.encoder_.schema_.fields[0].labels[0] for one in (found, fit_file(str(path), detector=said))]
    assert months == ["2024-02-01", "2024-01-02"]
